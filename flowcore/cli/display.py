"""A run on a screen: a table that changes in place on a terminal, a line for each change anywhere else."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from flowcore.cli.listing import Listed
from flowcore.cli.report.order import along_the_graph
from flowcore.domain.model import Run, Step, StepStatus

STYLES = {
    "PENDING": "dim",
    "READY": "cyan",
    "RUNNING": "yellow",
    "SUCCEEDED": "green",
    "FAILED": "bold red",
    "SKIPPED": "magenta",
    "CANCELLED": "magenta",
}
SIGNS = {
    "PENDING": "·",
    "READY": "○",
    "RUNNING": "◐",
    "SUCCEEDED": "●",
    "FAILED": "✗",
    "SKIPPED": "↷",
    "CANCELLED": "∅",
}

PIPED = 300  # columns


class Screen(Protocol):
    def show(self, run: Run | None) -> None:
        """The run as it is now; None: nothing has changed but the time."""

    def end(self) -> None:
        """Nothing more will change."""


class Lines:
    """For logs and pipes: what changed, in one line each, with what there is to say about it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: dict[str, str] = {}

    def show(self, run: Run | None) -> None:
        if run is None:
            return
        steps = along_the_graph(run.steps)
        now = {"run": str(run.status), **{step.step_id: str(step.status) for step in steps}}
        said = {"run": _about_run(run), **{step.step_id: _about(step) for step in steps}}
        # A run that ends does so because of its steps; one that begins comes before them.
        for name in sorted(now, key=lambda name: (name == "run") == run.status.finished):
            before, status = self._last.get(name), now[name]
            if before != status and (before or status != "PENDING"):
                line = f"{_clock(datetime.now(UTC))} {name} {before or '–'} → {status}{said[name]}"
                self._console.print(Text(line), soft_wrap=True)
        self._last = now

    def end(self) -> None:
        pass


class LiveTable:
    """One line a step, always at the same place, so that nothing jumps; at the end the whole of it, to copy from."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._run: Run | None = None
        self._order: list[str] = []

    def show(self, run: Run | None) -> None:
        self._run = run or self._run
        if self._run:
            self._order = self._order or [step.step_id for step in along_the_graph(self._run.steps)]
            self._live.update(self._table(self._run, whole=False), refresh=True)

    def end(self) -> None:
        if self._run:
            self._live.update(self._table(self._run, whole=True))

    def _table(self, run: Run, *, whole: bool) -> Table:
        ordered = [run.steps[name] for name in self._order if name in run.steps]
        return table(run, ordered, datetime.now(UTC), whole=whole)


def table(run: Run, ordered: Sequence[Step], now: datetime, *, whole: bool) -> Table:
    """Status, duration, attempt and artifact of each step."""
    shown = Table(title=f"{run.run_id}  {run.status}", title_style=STYLES[run.status], title_justify="left", box=None)
    for heading in ("step", "status", "took", "attempt", "artifact"):
        # Where there is too little room, the last column gives way.
        shown.add_column(
            heading,
            no_wrap=heading != "artifact",
            overflow="fold",
            justify="right" if heading in ("took", "attempt") else "left",
        )
    for step in ordered:
        made = Text(_made(run.run_id, step, whole=whole), style="red" if step.error else "dim")
        made.no_wrap, made.overflow = not whole, "fold" if whole else "ellipsis"
        shown.add_row(
            Text(step.step_id),
            Text(f"{SIGNS[step.status]} {step.status}", style=STYLES[step.status]),
            span(duration(step, now)),
            str(step.attempt or ""),
            made,
        )
    return shown


def listing(runs: Sequence[Listed], now: datetime) -> Table:
    shown = Table(box=None, pad_edge=False)
    for heading in ("run", "status", "steps", "took", "started", "flow"):
        shown.add_column(heading, no_wrap=True, justify="right" if heading in ("steps", "took") else "left")
    for run in runs:
        since = run.created_at
        shown.add_row(
            Text(run.run_id),
            Text(f"{SIGNS[run.status]} {run.status}", style=STYLES[run.status]),
            run.progress,
            span((run.finished_at or now) - since) if since else "",
            f"{since.astimezone():%Y-%m-%d %H:%M:%S}" if since else "",
            Text(run.flow_key, style="dim"),
        )
    return shown


def screen() -> Console:
    """Standard output. What is piped is not cut to the width of a screen that nobody looks at."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPED)


def duration(step: Step, now: datetime) -> timedelta | None:
    return (step.finished_at or now) - step.started_at if step.started_at else None


def span(lasting: timedelta | None) -> str:
    if lasting is None:
        return ""
    seconds = lasting.total_seconds()
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} d"


def _made(run_id: str, step: Step, *, whole: bool) -> str:
    """Its artifact or its error; where there is little room, without what all names of the run begin with."""
    if step.error:
        return f"{step.error.code}: {step.error.message}"
    uri = step.gcs_uri or ""
    _, found, rest = uri.partition(f"/{run_id}/")
    return rest if found and not whole else uri


def _about(step: Step) -> str:
    if step.error:
        return f": {step.error.code}: {step.error.message}"
    attempt = f", attempt {step.attempt}" if step.attempt > 1 else ""
    match step.status:
        case StepStatus.RUNNING:
            return attempt
        case StepStatus.SUCCEEDED:
            return f" after {span(duration(step, step.finished_at))}{attempt}" if step.finished_at else attempt
        case StepStatus.PENDING if step.not_before and step.failures:
            return f": failure {step.failures} of {step.max_attempts}, again after {_clock(step.not_before)}"
    return ""


def _about_run(run: Run) -> str:
    if run.error:
        return f": {run.error.code}: {run.error.message}"
    if run.finished_at and run.created_at:
        return f" after {span(run.finished_at - run.created_at)}"
    return ""


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"


def show_all(console: Console, runs: Generator[Run | None]) -> Run | None:
    """Show every change until there are no more; returns the run as it was last."""
    # Closed here and now: a listener that is left to the end of the process can no longer be ended, and keeps it.
    with closing(runs):
        if console.is_terminal:
            with Live(console=console, auto_refresh=False) as live:
                return _shown(LiveTable(live), runs)
        return _shown(Lines(console), runs)


def _shown(screen: Screen, runs: Iterator[Run | None]) -> Run | None:
    last: Run | None = None
    for run in runs:
        screen.show(run)
        last = run or last
    screen.end()
    return last
