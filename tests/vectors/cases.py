"""A vector as a value, and its replay. The format is told in spec/vectors/README.md."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from flowcore.domain import lifecycle, manual
from flowcore.domain.errors import StepError
from flowcore.domain.model import Run, Snapshot
from flowcore.domain.moves import Failed, Succeeded
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import DELETE, Patch
from flowcore.domain.plan import ended_without_words, plan
from flowcore.engine.advance import Advance
from flowcore.engine.event import Ignored, parse_event
from flowcore.testing.stores import MemoryRuns
from flowcore.testing.world import T0, CountedChance, ManualClock, MemoryLog

FOLDER = Path(__file__).parents[2] / "spec" / "vectors"
COLLECTION = "flow_runs"
# Documents do not say when they were last written, so every replay pretends the same.
UPDATE_TIME = T0


@dataclass(frozen=True)
class Refusal:
    """What is expected instead of a patch."""

    word: str
    reason: str | None = None


@dataclass(frozen=True)
class Vector:
    name: str
    case: Mapping[str, Any]
    document: dict[str, Any] | None
    event: Mapping[str, Any] | None
    expected: Any

    @property
    def operation(self) -> str:
        return str(self.case["operation"])

    @property
    def broken(self) -> bool:
        return bool(self.case.get("broken"))

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.case["now"])

    @property
    def snapshot(self) -> Snapshot:
        assert self.document is not None, f"{self.name} has no document"
        return Snapshot(self.case.get("documentId") or self.document["runId"], self.document, UPDATE_TIME)

    @property
    def run(self) -> Run:
        return parse_run(self.snapshot)


def read_vector(folder: Path) -> Vector:
    def read(name: str) -> Any:
        return json.loads((folder / name).read_text())

    event = read("event.json") if (folder / "event.json").exists() else None
    return Vector(folder.name, read("case.json"), decoded(read("run.json")), event, read("expected_patch.json"))


def all_vectors() -> list[Vector]:
    return [read_vector(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]


def replay(vector: Vector) -> Patch | Refusal:
    """What the kernel answers to the case."""
    case, now = vector.case, vector.now
    match vector.operation:
        case "plan":
            return plan(vector.run, now)
        case "full":
            return ended_without_words(vector.run)
        case "claim":
            ttl = timedelta(seconds=case["ttlSeconds"])
            return lifecycle.claim(vector.run, case["stepType"], case["token"], now, ttl)
        case "finalize":
            return lifecycle.finalize(vector.run, case["token"], _outcome(case["outcome"]), now)
        case "adopt":
            return lifecycle.adopt(vector.run, case["stepId"], Succeeded(**case["found"], reused=True), now)
        case "retry" | "skip" | "cancel":
            return _by_hand(vector)
        case "event":
            return _event(vector)
    raise AssertionError(f"{vector.name}: nobody knows the operation {vector.operation!r}")


def _outcome(raw: Mapping[str, Any]) -> Succeeded | Failed:
    if "succeeded" in raw:
        return Succeeded(**raw["succeeded"])
    return Failed(StepError(**raw["failed"]["error"]), raw["failed"].get("outputs", {}))


def _by_hand(vector: Vector) -> Patch | Refusal:
    case, run, now = vector.case, vector.run, vector.now
    try:
        match vector.operation:
            case "retry":
                return manual.retry(run, case["stepIds"], now)
            case "skip":
                return manual.skip(run, case["stepIds"], now)
            case _:
                return manual.cancel(run, now)
    except manual.Refused:
        return Refusal("refused")


class _Written(MemoryRuns):
    """Remembers patches as they were written, not only what became of the document."""

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = 0.0) -> datetime:
        self.patches.append(patch)
        return MemoryRuns.update(self, run_id, patch, update_time, timeout)

    def __init__(self) -> None:
        super().__init__()
        self.patches: list[Patch] = []


def _event(vector: Vector) -> Patch | Refusal:
    """The event brings no document along, so the orchestrator reads it."""
    assert vector.event is not None, f"{vector.name} needs an event.json"
    event = parse_event(vector.event, None, COLLECTION, lambda run_id, data: None)
    if isinstance(event, Ignored):
        return Refusal("ignored", event.reason)
    runs, log = _Written(), MemoryLog()
    if vector.document is not None:
        runs.put(event.run_id, vector.document)
    Advance(runs, ManualClock(vector.now), CountedChance(), log, seconds=60).handle(event)
    if "event_ignored" in log.events():
        return Refusal("ignored", str(log.last("event_ignored")["reason"]))
    return runs.patches[0] if runs.patches else Patch()


def decoded(value: Any) -> Any:
    """JSON as a document holds it: {"$timestamp": …} is a Firestore Timestamp, {"$repeated": …} a long text."""
    match value:
        case {"$timestamp": text}:
            return datetime.fromisoformat(text)
        case {"$repeated": [str(text), int(times)]}:
            return text * times
        case dict():
            return {key: decoded(item) for key, item in value.items()}
        case list():
            return [decoded(item) for item in value]
        case _:
            return value


def encoded(value: Any) -> Any:
    """A document or a patch as it stands in a vector."""
    match value:
        case datetime():
            return {"$timestamp": value.isoformat().replace("+00:00", "Z")}
        case Mapping():
            return {key: encoded(item) for key, item in value.items()}
        case list():
            return [encoded(item) for item in value]
        case _ if value is DELETE:
            return {"$delete": True}
        case _:
            return value


def with_words_filled_in(expected: Any, given: Any) -> Any:
    """Words for people are free: {"$text": true} stands for any one line of up to 500 characters."""
    if expected == {"$text": True}:
        fits = isinstance(given, str) and 0 < len(given) <= 500 and len(given.splitlines()) == 1
        return given if fits else expected
    if isinstance(expected, dict) and isinstance(given, dict):
        return {key: with_words_filled_in(item, given.get(key)) for key, item in expected.items()}
    if isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        return [with_words_filled_in(*pair) for pair in zip(expected, given, strict=True)]
    return expected


def as_answer(answer: Patch | Refusal) -> Any:
    if isinstance(answer, Refusal):
        return {answer.word: answer.reason or True}
    return encoded(dict(answer.changes))
