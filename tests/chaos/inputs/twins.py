"""Bad input in volume: the project's own parsing, planning and workers, on twins of the stores and of the model.

No process, no port: what is left is what decides. The same kinds of input go through the real clients and the real
platform in `wire`, in smaller numbers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from emulator.firestore.errors import Refused
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order, Outcome, Progress, listed
from tests.chaos.inputs import healthy, requests, verdict
from tests.chaos.inputs.documents import Strange, strange
from tests.chaos.inputs.drawing import Case, cases, named, smallest
from tests.chaos.inputs.events import ANOTHER, SUBJECT, TYPE, Event, strange_event, understood
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.material import Prepared, strange_material
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import finished, prepared
from tests.chaos.inputs.verdict import Judged

STONE: Final = "stone"
SHRINKING: Final = 20.0  # seconds, at most, to make a broken case smaller


class MayBeOdd(Protocol):
    @property
    def odd(self) -> bool:
        """Whether anything is wrong with it; chance also makes what is in order."""


T = TypeVar("T", bound=MayBeOdd)


# --- the cases ----------------------------------------------------------------------------------------------


def a_document(case: Strange) -> Judged:
    """Beside a run that cannot be swept, which is not to stop anybody else."""
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    stage.lay_a_stone(STONE, {**healthy.a_market_run(), "runId": STONE})
    stage.play(case.run_id, case.document, events=case.events)
    return _judged(stage, case.run_id, case.document, _around(stage, case.run_id, there, {STONE}))


def some_material(case: Prepared) -> Judged:
    there = set(case.stage.artifacts.objects)
    case.stage.play(RUN_ID, case.run)
    return _judged(case.stage, RUN_ID, case.run, _around(case.stage, RUN_ID, there))


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
    told = [hostile.one((None, run, {})) for _ in range(hostile.chance.randrange(1, 4))]
    events = [strange_event(hostile, strange(hostile).document if each is None else each) for each in told]
    return Disturbed(run, events)


def an_event(case: Disturbed) -> Judged:
    """It comes before the good ones of a run, which is to end as if it had not; another run is not to be touched."""
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    stage.runs.put(ANOTHER, finished(ANOTHER))
    stage.heard = len(stage.runs.changes)
    stage.runs.put(RUN_ID, case.run)
    for event in case.events:
        stage.deliver(event.attributes, event.data)
    stage.deliver({"id": "e-2", "type": TYPE, "subject": SUBJECT}, None)
    stage.play(RUN_ID, case.run)
    # Whom an event names may be looked at, on the condition that it is as the event tells; and that it is not.
    named = {str(event.attributes.get("subject")).rpartition("/")[2] for event in case.events}
    judged = _judged(stage, RUN_ID, case.run, (*_around(stage, RUN_ID, there, named), *_of_events(stage)))
    return replace(judged, endings=tuple(map(understood, case.events)))


def _of_events(stage: Stage) -> Iterator[str]:
    status = stage.runs.kept[RUN_ID].snapshot.document.get("status")
    if status != "SUCCEEDED":
        yield f"a run in order ended {status!r:.60}"
    if stage.runs.kept[ANOTHER].snapshot.document != finished(ANOTHER):
        yield "another run was written"


def _around(stage: Stage, run_id: str, there: set[str], named: AbstractSet[str] = frozenset()) -> Iterator[str]:
    """What happened beside the run. `there`: objects from before; `named`: runs that may have been asked for, too."""
    yield from stage.broken
    yield from verdict.of_objects(run_id, set(stage.artifacts.objects) - there)
    yield from verdict.of_writes(stage.runs.asked_for, {run_id, *named})
    yield from verdict.of_writes(stage.shelf.written, [])
    lines = ((event, fields) for _, event, fields in stage.log.lines if fields.get("run_id") not in stage.runs.stones)
    yield from verdict.of_log(lines)


def _judged(stage: Stage, run_id: str, before: dict[str, Any], around: Iterable[str]) -> Judged:
    after = stage.runs.kept[run_id].snapshot.document
    return Judged((verdict.ending(before, after),), (*verdict.of_run(run_id, before, after), *around))


# --- the batteries ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """How a case is made, and what is found broken when it is played."""

    name: str
    make: Callable[[Hostile], T]
    judge: Callable[[T], Judged]

    def run(self, order: Order) -> Outcome:
        """What Firestore itself would refuse is no case: it is not counted, and the next one is drawn."""
        violations: list[str] = []
        endings: Counter[str] = Counter()
        done = odd = 0
        progress = Progress(self.name, order.cases)
        for block in cases(self.make, order.seed, order.cases):
            for case in block:
                if done == order.cases or order.time_is_up:
                    return Outcome(self.name, done, odd, tuple(violations), (listed(endings),))
                try:
                    is_odd, judged = case.value.odd, self.judge(case.value)
                except Refused:
                    continue
                found = list(dict.fromkeys(judged.broken))
                if found and not violations:
                    found.append(self._smallest(case, order))
                violations += [f"{self.name} {case.name}: {broken}" for broken in found]
                endings.update(judged.endings)
                done, odd = done + 1, odd + is_odd
                progress.tell(done, len(violations))
        raise AssertionError("blocks have no end")

    def _smallest(self, case: Case[T], order: Order) -> str:
        ends = min(order.ends, time.monotonic() + SHRINKING)

        def broken(value: T) -> bool:
            try:
                return time.monotonic() < ends and bool(self.judge(value).broken)
            except Refused:
                return False

        found = smallest(self.make, case.name, order.cases, broken)
        return f"the smallest like it is {found or case.value!s:.2000}"

    def again(self, name: str) -> Iterator[str]:
        case = named(self.make, name)
        yield str(case.value)
        yield from self.judge(case.value).broken

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
