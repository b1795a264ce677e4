"""Cases on the wire: many runs at once, each with its own trouble, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emulator.history import Record
from tests.chaos.battery import Order, Outcome
from tests.chaos.transitions import FINISHED, Document
from tests.chaos.wire.arena import Arena, Ending
from tests.chaos.wire.points import Crowd, Point, Trouble, Weather, points_of

TOGETHER = 8  # runs at once: what one of them waits for, the others need not


@dataclass(frozen=True, slots=True)
class Case:
    """`same_ending`: whatever happens to it, the run has to end as the undisturbed one did."""

    run_id: str
    troubles: tuple[Trouble | Weather | Crowd, ...]
    same_ending: bool = True
    cancelled: bool = False
    retried: bool = False

    def __str__(self) -> str:
        return f"{self.run_id} ({'; '.join(map(str, self.troubles))})"


@dataclass(slots=True)
class Tally:
    cases: int = 0
    fired: int = 0
    violations: list[str] = field(default_factory=list)

    def outcome(self, name: str) -> Outcome:
        return Outcome(name, self.cases, self.fired, tuple(self.violations))


@dataclass(frozen=True, slots=True)
class Undisturbed:
    ending: Ending
    points: tuple[Point, ...]

    @classmethod
    def traced(cls, arena: Arena, prefix: str) -> Undisturbed:
        """The second run is traced: the first one warms the processes up."""
        found: list[Point] = []
        for run_id in (f"{prefix}-cold", f"{prefix}-warm"):
            before = arena.faults.history.since().next
            arena.begin(run_id)
            if not arena.finish([run_id]):
                raise RuntimeError(f"{run_id} does not end although nothing disturbs it")
            records = arena.faults.history.since(before).records
            found = points_of([record for record in records if not _looks_on(record)], run_id)
        return cls(arena.ending(f"{prefix}-warm"), tuple(found))


def judged(arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed, order: Order, name: str) -> Outcome:
    """Case by case, several at a time, until the time is up."""
    tally = Tally()
    rounds = -(-len(cases) // TOGETHER)
    for number in range(rounds):
        if order.time_is_up:
            break
        _one_round(arena, cases[number::rounds], undisturbed, tally)  # neighbours in the trace are kept apart
    return tally.outcome(name)


def _one_round(arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed, tally: Tally) -> None:
    before = arena.faults.history.since().next
    handles = [trouble.planned(arena.faults, case.run_id) for case in cases for trouble in case.troubles]
    ids = [case.run_id for case in cases]
    for run_id in ids:
        arena.begin(run_id)
    for case in cases:
        if case.cancelled:
            arena.cancel(case.run_id)
    ended = arena.finish(ids)
    arena.faults.clear()
    again = [case.run_id for case in cases if case.retried and arena.document(case.run_id)["status"] == "FAILED"]
    for run_id in again:
        arena.retry(run_id)
    ended = ended and arena.finish(ids)
    said = arena.judge(arena.faults.history.since(before).records, ids)
    tally.cases += len(cases)
    tally.fired += sum(handle.fired for handle in handles)
    for case in cases:
        laws = said.get(case.run_id, [])
        document, ending = arena.document(case.run_id), arena.ending(case.run_id)
        if not ended and ending.run not in FINISHED:
            laws.append("does not come to its end")
        elif case.same_ending and ending != undisturbed.ending and not _given_up(document["steps"]):
            laws.append(f"ended as {ending}")
        tally.violations += (f"{case}: {law}" for law in laws)
    tally.violations += (f"{', '.join(map(str, cases))}: {law}" for law in said.get("", []))


def _given_up(steps: Mapping[str, Document]) -> bool:
    """A report whose worker vanished twice is not paid for a third time; kills hit every run that a process serves."""
    return any(
        step.get("error", {}).get("code") == "LEASE_EXPIRED" and step.get("leaseLosses") == 2
        for step in steps.values()
        if step["stepType"] == "LLM_REPORT"
    )


def _looks_on(record: Record) -> bool:
    """Our own look whether the run is over."""
    return bool(record.method == "BatchGetDocuments" and record.resource.startswith("flow_runs/"))
