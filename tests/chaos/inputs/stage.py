"""The whole flow in memory, on the project's own workers: only stores, model and time are twins.

A stranger puts a run there; every write makes its event, in the form in which it travels; whatever no event does, sweep
does later. At the end there is a verdict: what was promised, and was not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from io import BytesIO
from typing import Any, BinaryIO, Final

from emulator.eventarc import Subscription
from emulator.eventarc.events import event_of
from flowcore.adapters.candle_files import FileCandles, packaged
from flowcore.adapters.firestore_events import decode
from flowcore.contracts.candles import Candle, CandleQuery
from flowcore.contracts.charts import Chart
from flowcore.contracts.model import Answer, Question
from flowcore.domain.artifacts import Artifact
from flowcore.domain.budget import TimeBudget
from flowcore.engine.advance import Advance
from flowcore.engine.context import StepContext
from flowcore.engine.event import parse_event, received
from flowcore.engine.sweep import Sweep
from flowcore.engine.worker import StepType, Worker
from flowcore.testing.stores import MemoryArtifacts
from flowcore.testing.world import T0, CountedChance, ManualClock, MemoryLog
from functions.worker_charts.export import Studio, export_charts
from functions.worker_charts.inputs import Inputs as ChartInputs
from functions.worker_charts.local import LocalCharts
from functions.worker_llm_report.inputs import Inputs as ReportInputs
from functions.worker_llm_report.writing import Desk, write_report
from functions.worker_ohlcv_export.export import export
from functions.worker_ohlcv_export.inputs import Inputs as CandleInputs
from functions.worker_ohlcv_export.inputs import wish
from tests.chaos.inputs import verdict
from tests.chaos.inputs.twin import COLLECTION, Shelf, TwinRuns

GOOD_ANSWER: Final = '{"summary": {"markdown": "# Up"}, "details": {}}'
SKETCH: Final = b"\x89PNG\r\n\x1a\n"
DELIVERIES: Final = 3_000  # more than any of these runs needs: beyond it something goes in circles
ROUNDS: Final = 40  # of sweeping; a step that nobody takes is given up after six
_TRIGGER: Final = Subscription("any", "", f"{COLLECTION}/{{runId}}")


@dataclass
class Stage:
    """`drawing`: charts are drawn, which takes its time, and not only sketched."""

    answer: Callable[[Question], Answer] = lambda question: Answer(GOOD_ANSWER, "STOP")
    drawing: bool = False
    runs: TwinRuns = field(default_factory=TwinRuns)
    shelf: Shelf = field(default_factory=Shelf)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    clock: ManualClock = field(default_factory=ManualClock)
    chance: CountedChance = field(default_factory=CountedChance)
    log: MemoryLog = field(default_factory=MemoryLog)
    broken: list[str] = field(default_factory=list)  # exceptions that nobody was to see
    heard: int = 0

    # --- what happens ---

    def lay_a_stone(self, run_id: str, document: Mapping[str, object]) -> None:
        """A run that is due, and to which no write succeeds: sweep comes to it before all others, every time."""
        self.runs.put(run_id, document)
        self.runs.stones.add(run_id)
        self.heard = len(self.runs.changes)

    def play(self, run_id: str, document: Mapping[str, object], *, events: bool = True) -> None:
        """A stranger writes the run; then events, and as long as anything is still to come of it, time and sweep."""
        self.runs.put(run_id, document)
        if not events:
            self.heard = len(self.runs.changes)
        self.settle()
        for round_number in range(ROUNDS):
            if not any(verdict.of_run(run_id, document, self.runs.kept[run_id].snapshot.document)):
                return
            self._later()
            self._sweep(every_run=round_number % 4 == 0)
            self.settle()

    def settle(self) -> None:
        """Every event is delivered to everybody, once, in order."""
        while self.heard < len(self.runs.changes):
            if self.heard == DELIVERIES:
                self.broken.append(f"still going after {DELIVERIES} deliveries")
                return
            event = event_of(self.runs.changes[self.heard], _TRIGGER, location="nam5")
            self.heard += 1
            if not event.too_large:  # the platform drops it: sweep will see the run
                names = ("id", "type")
                subject = f"documents/{self.runs.changes[self.heard - 1].name.split('/documents/', 1)[1]}"
                attributes = {name: event.headers[f"ce-{name}"] for name in names} | {"subject": subject}
                self.deliver(attributes, event.body)

    def deliver(self, attributes: Mapping[str, object], data: object) -> None:
        what = f"delivery of {attributes.get('subject')!r:.80}"
        event = None
        with self._watched(what):
            event = received(parse_event(attributes, data, COLLECTION, decode), self.log)
        for handle in self._functions if event else ():
            with self._watched(what):
                handle(event)

    def finished(self, run_id: str) -> bool:
        status = self.runs.kept[run_id].snapshot.document.get("status")
        return status in ("SUCCEEDED", "FAILED", "CANCELLED")

    def _sweep(self, *, every_run: bool) -> None:
        sweep = Sweep(self.runs, self.clock, self.chance, self.log, 600.0)
        with self._watched("sweep"):
            report = sweep.hourly() if every_run else sweep.minutely()
            if report.failed > len(self.runs.stones):
                self.broken.append("sweep failed for a run")

    def _later(self) -> None:
        """It is the next moment at which anything may be due, or at least some minutes later."""
        moments = [kept.snapshot.document.get("wakeAt") for kept in self.runs.kept.values()]
        waits = [(moment - self.clock.now()).total_seconds() for moment in moments if isinstance(moment, datetime)]
        self.clock.advance(min(max([301.0, *waits]), timedelta(days=365).total_seconds()))

    @contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # noqa: BLE001 - whatever it is: it would have been a 500
            self.broken.append(f"{what}: {verdict.reached(exc)}")

    # --- who acts ---

    @cached_property
    def _functions(self) -> list[Callable[[Any], None]]:
        step_types: tuple[StepType[Any], ...] = (
            StepType("OHLCV_EXPORT", CandleInputs.read, self._export),
            StepType("CHART_EXPORT", ChartInputs.read, self._charts),
            StepType("LLM_REPORT", ReportInputs.read, self._report),
        )
        world = self.clock, self.chance, self.log
        workers = [Worker(kind, self.runs, self.artifacts, *world, TimeBudget()) for kind in step_types]
        return [Advance(self.runs, *world, 600.0).handle, *(worker.handle for worker in workers)]

    def _export(self, ctx: StepContext, inputs: CandleInputs) -> Artifact:
        asked = wish(inputs, ctx.run, ctx.step, ctx.clock.now())
        if asked.file:
            opened = self._opened if asked.file.startswith("gs://") else packaged
            return export(ctx, asked, FileCandles(asked.file, opened), "gcs_read")
        return export(ctx, asked, Table(), "bigquery")

    def _charts(self, ctx: StepContext, inputs: ChartInputs) -> Artifact:
        renderer = LocalCharts.of if self.drawing else Sketched.of
        return export_charts(ctx, inputs, Studio(self.shelf, "Etc/UTC", renderer))

    def _report(self, ctx: StepContext, inputs: ReportInputs) -> Artifact:
        return write_report(ctx, inputs, Desk(self.shelf, Oracle(self.answer), 60.0, self._size))

    def _size(self, uri: str, timeout: float) -> int:
        return len(self.artifacts.read(uri, timeout))

    @contextmanager
    def _opened(self, name: str, timeout: float) -> Iterator[BinaryIO]:
        yield BytesIO(self.artifacts.read(name, timeout))


@dataclass(frozen=True)
class Oracle:
    """The model: it says what the case wants."""

    answer: Callable[[Question], Answer]

    def ask(self, question: Question, timeout: float) -> Answer:
        return self.answer(question)


class Table:
    """The table of candles: three months, whatever is asked for."""

    def candles(self, query: CandleQuery, timeout: float) -> Iterator[Candle]:
        opened = [T0 - timedelta(days=days) for days in (150, 120, 90)]
        return iter([Candle(moment, 1.0, 2.0, 0.5, 1.5, 10.0) for moment in opened if query.since <= moment])


class Sketched(LocalCharts):
    """Everything but the drawing itself."""

    def render(self, chart: Chart) -> bytes:
        return SKETCH
