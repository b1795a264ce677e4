"""Cases on the wire: many runs at once, each with its own trouble, and what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from tests.chaos.battery import Order, Outcome, Progress
from tests.chaos.transitions import Document
from tests.chaos.wire.ahead import sweep_ahead
from tests.chaos.wire.arena import Arena
from tests.chaos.wire.flow import run_id_of
from tests.chaos.wire.operator import Act, Operator
from tests.chaos.wire.points import Loss, Point, Problem, Trouble, points_of
from tests.chaos.wire.verdict import Ending, ending, judge

MOST_SWEEPS = 40
OVER_WITHIN = 900.0  # seconds; also on a machine that has other things to do
LOSSES = {"LLM_REPORT": 2}  # so many lost leases end a step; a report is not paid for a third time
MOST_LOSSES = 4


@dataclass(frozen=True, slots=True)
class Case:
    """`same_ending`: whatever happens to it, the run has to end as the undisturbed one did."""

    key: str
    problems: tuple[Problem, ...]
    same_ending: bool = True
    acts: tuple[Act, ...] = ()
    patience: int = 0

    @property
    def run_id(self) -> str:
        return run_id_of(self.key)

    @property
    def concerns_sweep(self) -> bool:
        """It is a certain query of the next sweep that is to fail."""
        return any(isinstance(problem, Trouble) and problem.point.of_sweep for problem in self.problems)

    def __str__(self) -> str:
        return f"{self.key} ({'; '.join(map(str, (*self.problems, *self.acts)))})"


@dataclass(slots=True)
class Tally:
    """What has become of a battery so far."""

    progress: Progress
    cases: int = 0
    fired: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, cases: int, broken: Sequence[str] = ()) -> None:
        self.cases += cases
        self.violations += broken
        self.progress.tell(self.cases, len(self.violations))

    def outcome(self) -> Outcome:
        return Outcome(self.progress.name, self.cases, self.fired, tuple(self.violations))


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """Where something may go wrong although nothing did."""

    ending: Ending
    points: tuple[Point, ...]  # the calls of a run that events move on
    swept: tuple[Point, ...]  # the writes of one that `sweep` moves on, and sweep's own queries
    cold: tuple[Point, ...]  # what only a process asks that has just been started

    @classmethod
    def traced(cls, arena: Arena) -> Undisturbed:
        """The first run warms the processes up. While the second is traced nobody sweeps, and then nobody else does."""
        first = cls._trace(arena, Case("cold", ()))
        with arena.between_sweeps:
            points = cls._trace(arena, Case("warm", ()))
            start = len(arena.book.so_far())
            arena.sweep()
            queries = points_of(arena.book.so_far()[start:], "nobody's")
        moved = cls._trace(arena, Case("swept", (Loss("advance_flow"),)))
        swept = [point for point in moved if point.method == "Commit" and point.nth > 0]
        cold = [point for point in first if not (point.of_a_run or point.of_sweep or point in points)]
        return cls(ending(arena, run_id_of("warm")), tuple(points), tuple(swept + queries), tuple(cold))

    @staticmethod
    def _trace(arena: Arena, case: Case) -> list[Point]:
        start = len(arena.book.so_far())
        with arena.sky.planned(case.run_id, case.problems):
            for broken in arena.begin(case.key):
                raise RuntimeError(broken)
            while not arena.book.life(case.run_id).over:
                arena.rest(case.run_id)
        return points_of(arena.book.so_far()[start:], case.run_id)


def judged(
    arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed, order: Order, tally: Tally, *, at_once: int
) -> None:
    """Case by case, so many at a time, until the time is up."""
    before = arena.fired
    begun: dict[str, Case] = {}
    with _pool(at_once) as pool:
        doing = [pool.submit(_if_in_time, arena, case, undisturbed, order) for case in cases]
        for done in as_completed(doing):
            case, broken = done.result()
            if case:
                begun[case.run_id] = case
                tally.add(1, [f"{case}: {law}" for law in broken])
    if not arena.settled():
        tally.add(0, [f"{cases[0].key} and the next: events do not come to their end"])
    for run_id, laws in judge(arena).items():
        who = begun.get(run_id) or run_id or f"one of {cases[0].key} and the next {len(cases) - 1}"
        tally.add(0, [f"{who}: {law}" for law in laws])
    tally.fired += arena.fired - before


@contextmanager
def _pool(size: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(size) as pool:
        try:
            yield pool
        except BaseException:  # Ctrl-C: nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _if_in_time(arena: Arena, case: Case, undisturbed: Undisturbed, order: Order) -> tuple[Case | None, list[str]]:
    if order.time_is_up:
        return None, []
    broken = list(_played(arena, case))
    if case.same_ending and not broken:
        ended = ending(arena, case.run_id)
        if ended != undisturbed.ending and not _given_up(arena.book.life(case.run_id).document["steps"]):
            broken.append(f"ended as {ended}")
    return case, broken


def _played(arena: Arena, case: Case) -> Iterator[str]:
    run_id = case.run_id
    operator = Operator(arena, run_id, case.acts, case.patience)
    with ExitStack() as planned:
        with arena.between_sweeps if case.concerns_sweep else nullcontext():
            planned.enter_context(arena.sky.planned(run_id, case.problems))
        yield from arena.begin(case.key)
        hours, ends = 0, time.monotonic() + OVER_WITHIN
        while hours < MOST_SWEEPS and time.monotonic() < ends:
            arena.rest(run_id, lambda: operator.wants_to_act() or time.monotonic() > ends)
            if operator.wants_to_act():
                operator.act()
            elif not arena.book.life(run_id).over:
                hours += 1
                sweep_ahead(arena.world.runs, run_id, hours)
            elif not operator.reopens():
                return
    yield "does not come to its end"


def _given_up(steps: Mapping[str, Document]) -> bool:
    """A kill hits every run that the process serves, so that a step may lose more workers than it can afford."""
    return any(
        step.get("error", {}).get("code") == "LEASE_EXPIRED"
        and step.get("leaseLosses") == LOSSES.get(step["stepType"], MOST_LOSSES)
        for step in steps.values()
    )
