"""One run as people want to see it: graph, times, reasons, troubles, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flowcore.cli.advice import next_things, reasons
from flowcore.cli.display import SIGNS, STYLES, duration, screen, span
from flowcore.cli.drawing import drawn
from flowcore.cli.looking import Found
from flowcore.cli.report.order import along_the_graph
from flowcore.cli.report.timeline import Bar, timeline
from flowcore.cli.report.words import trouble
from flowcore.domain.dependencies import was_blocked
from flowcore.domain.errors import StepError
from flowcore.domain.model import Run, Step
from flowcore.domain.times import to_text

WIDTH = 30  # of the timeline, in characters
_INK = {"waited": "░", "ran": "█", "ended": "·"}


def portrayed(found: Found, now: datetime, options: str) -> None:
    """On standard output."""
    console, run = screen(), found.run
    ordered = along_the_graph(run.steps)
    console.print(_heading(found, now))
    console.print(_steps(ordered, run.created_at, run.finished_at or now))
    _section(console, "waiting", [(name, Text(reason)) for name, reason in reasons(run, now).items()])
    _section(console, "trouble", list(_troubles(run, ordered)))
    for advice in _next(found, options):
        console.print(Text(f"next: {advice}"), soft_wrap=True)


def as_data(found: Found, now: datetime, options: str) -> dict[str, object]:
    run, why = found.run, reasons(found.run, now)
    return {
        "runId": run.run_id,
        "status": str(run.status),
        "flowKey": found.document.get("flowKey"),
        "createdAt": _as_text(run.created_at),
        "finishedAt": _as_text(run.finished_at),
        "error": _as_error(run.error),
        "defect": str(run.defect) if run.defect else None,
        "steps": [
            {
                "stepId": step.step_id,
                "stepType": step.step_type,
                "status": str(step.status),
                "dependsOn": list(step.depends_on),
                "attempt": step.attempt,
                "startedAt": _as_text(step.started_at),
                "finishedAt": _as_text(step.finished_at),
                "artifact": step.gcs_uri,
                "waits": why.get(step.step_id),
                "error": _as_error(step.error),
            }
            for step in along_the_graph(run.steps)
        ],
        "next": _next(found, options),
    }


def _next(found: Found, options: str) -> list[str]:
    return next_things(found.run, options, str(found.document.get("flowKey") or ""))


def _heading(found: Found, now: datetime) -> Text:
    run = found.run
    parts = [
        str(found.document.get("flowKey") or ""),
        *(f"{name}={_plain(value)}" for name, value in sorted(run.scope.items())),  # Firestore keeps no order
    ]
    if created := run.created_at:
        ended = "took" if run.finished_at else "for"
        parts += [
            f"started {created.astimezone():%Y-%m-%d %H:%M:%S}",
            f"{ended} {span((run.finished_at or now) - created)}",
        ]
    return Text.assemble(
        run.run_id,
        " ",
        (str(run.status), STYLES[run.status]),
        ("  " + ", ".join(part for part in parts if part), "dim"),
    )


def _steps(ordered: Sequence[Step], created: datetime | None, until: datetime) -> Table:
    shown = Table(box=None, pad_edge=False)
    for heading in ("step", "status", "attempt", "took"):
        shown.add_column(heading, no_wrap=True, justify="right" if heading in ("attempt", "took") else "left")
    shown.add_column("when", no_wrap=True)
    lanes = timeline(ordered, created, until).lanes
    for step, line, lane in zip(ordered, drawn(ordered, SIGNS), lanes, strict=True):
        shown.add_row(
            Text.assemble(
                (line, STYLES[step.status]), " ", step.step_id, (" optional" if step.optional else "", "dim")
            ),
            Text(str(step.status), style=STYLES[step.status]),
            str(step.attempt or ""),
            span(duration(step, until)),
            Text(_inked(lane.bars), style=STYLES[step.status]),
        )
    return shown


def _inked(bars: Sequence[Bar]) -> str:
    cells = [" "] * WIDTH
    for bar in bars:
        first = min(int(bar.x / 100 * WIDTH), WIDTH - 1)
        for cell in range(first, max(first + 1, min(WIDTH, round((bar.x + bar.width) / 100 * WIDTH)))):
            cells[cell] = _INK[bar.kind]
    return "".join(cells).rstrip()


def _troubles(run: Run, ordered: Sequence[Step]) -> Iterator[tuple[str, Text]]:
    if run.defect and not run.error:
        yield run.run_id, Text(f"broken: {run.defect}")
    if run.error:
        yield run.run_id, _told(run.error)
    for step in sorted(ordered, key=was_blocked):  # what went wrong comes before what was stopped by it
        if step.error:
            yield step.step_id, _told(step.error)


def _told(error: StepError) -> Text:
    told = trouble(error)
    return Text.assemble((told.code, "red"), f" {told.words} {told.message}".rstrip())


def _section(console: Console, title: str, rows: Sequence[tuple[str, Text]]) -> None:
    if rows:
        console.print(Text(title, style="bold"))
        for name, text in rows:
            console.print(Text.assemble(f"  {name}: ", text), soft_wrap=True)


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _as_text(moment: datetime | None) -> str | None:
    return to_text(moment) if moment else None


def _as_error(error: StepError | None) -> dict[str, object] | None:
    if error is None:
        return None
    told = trouble(error)
    return {"code": told.code, "words": told.words, "message": error.message, "retryable": error.retryable}
