"""A small world to act in: the twins, the engines over them, and a provider that counts what it is paid for."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from flowcore.domain.artifacts import Artifact, description, ownership, sha256
from flowcore.domain.budget import TimeBudget
from flowcore.domain.errors import Code, NetworkError
from flowcore.domain.model import Run, Snapshot, Step
from flowcore.domain.parse import parse_run
from flowcore.domain.times import to_text
from flowcore.engine.advance import Advance
from flowcore.engine.context import StepContext
from flowcore.engine.event import FlowEvent
from flowcore.engine.sweep import Sweep
from flowcore.engine.worker import StepType, Worker
from flowcore.ports import Chance
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run
from flowcore.testing.stores import MemoryArtifacts, MemoryRuns
from flowcore.testing.world import T0, CountedChance, ManualClock, MemoryLog

TYPES = {OHLCV: "OHLCV_EXPORT", CHARTS: "CHART_EXPORT", REPORT: "LLM_REPORT"}
# The object that the report of the builders' run is stored under.
REPORT_OBJECT = f"runs/{RUN_ID}/reports/1M/{REPORT}.json"
OHLCV_OBJECT = f"runs/{RUN_ID}/ohlcv/1M.json"

Inputs = Mapping[str, object]
Execute = Callable[[StepContext, Inputs], Artifact]


class Handler(Protocol):
    def handle(self, event: FlowEvent) -> None: ...


class Denied(Exception):
    """What an adapter raises for PERMISSION_DENIED: a refusal, not silence."""


class Crash(BaseException):
    """The process is gone: no `except Exception` sees it."""


def unavailable(code: Code = Code.FIRESTORE_UNAVAILABLE) -> NetworkError:
    return NetworkError(code, "503 from the other side")


@dataclass
class Provider:
    """Somebody who is paid by the call."""

    calls: int = 0
    meanwhile: Callable[[], object] = field(default=lambda: None)
    answer: Artifact | None = None

    def execute(self, context: StepContext, inputs: Inputs) -> Artifact:
        self.calls += 1
        self.meanwhile()
        return self.answer or Artifact.json({"text": f"answer {self.calls}"}, execution={"model": "m-1"})


@dataclass
class Stage:
    runs: MemoryRuns = field(default_factory=MemoryRuns)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    clock: ManualClock = field(default_factory=ManualClock)
    chance: CountedChance = field(default_factory=CountedChance)
    log: MemoryLog = field(default_factory=MemoryLog)
    provider: Provider = field(default_factory=Provider)
    budget: TimeBudget = field(default_factory=TimeBudget)

    # --- the engines ---

    def worker(
        self, step_type: str = "LLM_REPORT", execute: Execute | None = None, chance: Chance | None = None
    ) -> Worker[Inputs]:
        return Worker(
            StepType(step_type, lambda inputs: inputs, execute or self.provider.execute),
            self.runs,
            self.artifacts,
            self.clock,
            chance or self.chance,
            self.log,
            self.budget,
        )

    def advance(self) -> Advance:
        return Advance(self.runs, self.clock, self.chance, self.log, seconds=60)

    def sweep(self, seconds: float = 60) -> Sweep:
        return Sweep(self.runs, self.clock, self.chance, self.log, seconds)

    def everybody(self) -> list[Handler]:
        return [self.advance(), *(self.worker(step_type) for step_type in TYPES.values())]

    # --- what happens ---

    def put(self, document: Mapping[str, object], run_id: str = RUN_ID) -> FlowEvent:
        return event_of(self.runs.put(run_id, document))

    def meddle(self, **fields: object) -> None:
        """Somebody else writes the run: nothing that matters, unless the test says so."""
        self.put({**self.document, "touched": len(self.runs.changes), **fields})

    def move(self, step_id: str, **fields: object) -> None:
        """Somebody else writes one step; a field given as None is removed."""
        steps = self.document["steps"]
        assert isinstance(steps, dict)
        step = {key: value for key, value in {**steps[step_id], **fields}.items() if value is not None}
        self.put({**self.document, "steps": {**steps, step_id: step}})

    def meddle_for_ever(self) -> None:
        """From now on every write of ours comes too late."""

        def too_late() -> None:
            self.meddle()
            self.runs.wire.before_next("update", too_late)

        self.runs.wire.before_next("update", too_late)

    def after(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def deliver_all(self, handlers: Iterable[Handler], start: int = 0) -> int:
        """Every change, as an event, to everybody, in order, until nothing changes any more."""
        handlers = list(handlers)
        seen = start
        while seen < len(self.runs.changes):
            new = self.runs.changes[seen].new
            seen += 1
            for handler in handlers if new else ():
                handler.handle(event_of(new))
        return seen

    # --- what can be seen from outside, without a counted call ---

    @property
    def snapshot(self) -> Snapshot:
        snapshot = self.runs.changes[-1].new
        assert snapshot is not None, "the run was deleted"
        return snapshot

    @property
    def document(self) -> Mapping[str, object]:
        return self.snapshot.document

    @property
    def run(self) -> Run:
        return parse_run(self.snapshot)

    def step(self, step_id: str = REPORT) -> Step:
        return self.run.steps[step_id]

    @property
    def event(self) -> FlowEvent:
        return event_of(self.snapshot)

    def calls(self) -> dict[str, int]:
        """Every call to the stores so far."""
        return dict(self.runs.wire.calls + self.artifacts.wire.calls)


def event_of(snapshot: Snapshot | None, run_id: str = RUN_ID) -> FlowEvent:
    return FlowEvent("event-1", snapshot.run_id if snapshot else run_id, snapshot)


def without_payload(event: FlowEvent) -> FlowEvent:
    return replace(event, snapshot=None)


def metadata(step: Step, artifact: Artifact) -> dict[str, str]:
    """What the step's object says of itself."""
    assert isinstance(artifact.content, bytes)
    return {**ownership(RUN_ID, step), **description(artifact, sha256(artifact.content))}


def report_ready() -> dict[str, object]:
    return a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED", report="READY")


def report_running(since: datetime = T0) -> dict[str, object]:
    """As a worker leaves it that claimed and was not heard of again."""
    return with_step(
        report_ready(),
        REPORT,
        status="RUNNING",
        attempt=1,
        startedAt=to_text(since),
        lease={"token": "token-of-the-vanished", "expiresAt": to_text(since + timedelta(seconds=840))},
    )


def with_step(document: Mapping[str, object], step_id: str, **fields: object) -> dict[str, object]:
    steps = document["steps"]
    assert isinstance(steps, dict)
    step = {key: value for key, value in {**steps[step_id], **fields}.items() if value is not None}
    return {**document, "steps": {**steps, step_id: step}}
