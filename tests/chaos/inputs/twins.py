"""Bad input in volume: the project's own parsing, planning and workers, on twins of the stores and of the model.

No process, no port: what is left is what decides. The same kinds of input go through the real clients and the real
platform in `wire`, in smaller numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from emulator.firestore.errors import Refused
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.inputs import healthy, requests, verdict
from tests.chaos.inputs.documents import Strange, strange
from tests.chaos.inputs.drawing import Case, cases, smallest
from tests.chaos.inputs.events import SUBJECT, TYPE, Event, strange_event
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.material import Prepared, strange_material
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared

SHRINKING: Final = 20.0  # seconds, at most, to make a broken case smaller


class MayBeOdd(Protocol):
    @property
    def odd(self) -> bool:
        """Whether anything is wrong with it; chance also makes what is in order."""


T = TypeVar("T", bound=MayBeOdd)


# --- the cases ----------------------------------------------------------------------------------------------


def a_document(case: Strange) -> Iterator[str]:
    """Beside a run that cannot be swept, which is not to stop anybody else."""
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    stage.lay_a_stone("stone", {**healthy.a_market_run(), "runId": "stone"})
    stage.play(case.run_id, case.document, events=case.events)
    yield from _verdict(stage, case.run_id, case.document, there)


def some_material(case: Prepared) -> Iterator[str]:
    there = set(case.stage.artifacts.objects)
    case.stage.play(RUN_ID, case.run)
    yield from _verdict(case.stage, RUN_ID, case.run, there)


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A run in order, and events that are not."""

    run: dict[str, Any]
    events: list[Event]

    @property
    def odd(self) -> bool:
        return any(event.odd for event in self.events)


def disturbed(hostile: Hostile) -> Disturbed:
    run = hostile.one((healthy.a_market_run, healthy.only_the_report, healthy.only_the_charts))()
    told = [hostile.one((run, {}, None)) for _ in range(hostile.chance.randrange(1, 4))]
    events = [strange_event(hostile, strange(hostile).document if each is None else each) for each in told]
    return Disturbed(run, events)


def an_event(case: Disturbed) -> Iterator[str]:
    """It comes before, between and after the good ones of a run, and of another run that is not to be touched."""
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    bystander = {**healthy.a_market_run("SUCCEEDED"), "runId": "bystander"}
    stage.runs.put("bystander", bystander)
    stage.heard = len(stage.runs.changes)
    stage.runs.put(RUN_ID, case.run)
    for event in case.events:
        stage.deliver(event.attributes, event.data)
    stage.deliver({"id": "e-2", "type": TYPE, "subject": SUBJECT}, None)
    stage.play(RUN_ID, case.run)
    yield from _verdict(stage, RUN_ID, case.run, there)
    if stage.runs.kept["bystander"].snapshot.document != bystander:
        yield "another run was written"


def _verdict(stage: Stage, run_id: str, before: dict[str, object], there: set[str]) -> Iterator[str]:
    yield from stage.broken
    yield from verdict.of_run(run_id, before, stage.runs.kept[run_id].snapshot.document)
    yield from verdict.of_objects(run_id, set(stage.artifacts.objects) - there)
    lines = ((event, fields) for _, event, fields in stage.log.lines if fields.get("run_id") not in stage.runs.stones)
    yield from verdict.of_log(lines)
    if stage.shelf.writes:
        yield "a document of the operators was written"


# --- the batteries ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """How a case is made, and what is found broken when it is played."""

    name: str
    make: Callable[[Hostile], T]
    judge: Callable[[T], Iterator[str]]

    def run(self, order: Order) -> Outcome:
        """What Firestore itself would refuse is no case: it is not counted, and the next one is drawn."""
        violations: list[str] = []
        done = odd = 0
        progress = Progress(self.name, order.cases)
        for block in cases(self.make, order.seed, order.cases):
            for case in block:
                if done == order.cases or order.time_is_up:
                    return Outcome(self.name, done, odd, tuple(violations))
                try:
                    is_odd, found = case.value.odd, list(dict.fromkeys(self.judge(case.value)))
                except Refused:
                    continue
                if found and not violations:
                    found.append(self._smallest(case, order))
                violations += [f"{self.name} {case.name}: {broken}" for broken in found]
                done, odd = done + 1, odd + is_odd
                progress.tell(done, len(violations))
        raise AssertionError("blocks have no end")

    def _smallest(self, case: Case[T], order: Order) -> str:
        ends = min(order.ends, time.monotonic() + SHRINKING)

        def broken(value: T) -> bool:
            try:
                return time.monotonic() < ends and any(self.judge(value))
            except Refused:
                return False

        found = smallest(self.make, case.name, order.cases, broken)
        return f"the smallest like it is {found or case.value!s:.2000}"

    def battery(self, cases: int, share: float) -> Battery:
        return Battery(self.name, cases, share, self.run)


_DOCUMENTS = Kind("bad input: run documents", strange, a_document)
_EVENTS = Kind("bad input: events", disturbed, an_event)
_MATERIAL = Kind("bad input: artifacts", strange_material, some_material)
_REQUESTS = Kind("bad input: requests", requests.strange_call, requests.started)
KINDS: Final = (_DOCUMENTS, _EVENTS, _MATERIAL, _REQUESTS)
DOCUMENTS, EVENTS = _DOCUMENTS.battery(9_000, 2.0), _EVENTS.battery(3_000, 2.0)
MATERIAL, REQUESTS = _MATERIAL.battery(7_000, 2.0), _REQUESTS.battery(5_000, 0.5)
BATTERIES = (DOCUMENTS, EVENTS, MATERIAL, REQUESTS)
