"""Cases on the wire: many runs at once, each with its own trouble, and what became of them.

A process serves several runs, so the kill that one case has planned hits others, and a call that names no run may be
any run's. Hence a case which did not meet its own trouble, whose step lost more workers than it can afford, or which
failed for no reason of its own, is played again when all others are over: with a few like it, and if there is still a
doubt alone, or with others that disturb nobody. What is wrong then is a violation.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace

from tests.chaos.battery import Order
from tests.chaos.transitions import LEASE_LOSSES, MOST_LEASE_LOSSES, Document
from tests.chaos.wire.arena import Arena
from tests.chaos.wire.flow import run_id_of
from tests.chaos.wire.operator import Act, Operator
from tests.chaos.wire.points import Answered, Crowd, Loss, Problem, Trouble, Weather
from tests.chaos.wire.sky import Plan
from tests.chaos.wire.tally import Tally
from tests.chaos.wire.tracing import Undisturbed
from tests.chaos.wire.verdict import ending, judge, wrong_objects

MOST_SWEEPS = 40
OVER_WITHIN = 900.0  # seconds; also on a machine that has other things to do
A_FEW = 4
OUTAGE = "an end of the platform"
HARMLESS = {"duplicate", "triplicate", "reorder", "delay", "lost acknowledgement"}
LOSSES = {"drop", "lost events"}


@dataclass(frozen=True, slots=True)
class Case:
    """`same_ending`: whatever happens to it, the run has to end as the undisturbed one did; else it needs a reason.

    `strikes`: of its troubles so many have to happen.
    """

    key: str
    problems: tuple[Problem, ...]
    same_ending: bool = True
    acts: tuple[Act, ...] = ()
    patience: int = 0
    strikes: int = 0

    @property
    def run_id(self) -> str:
        return run_id_of(self.key)

    @property
    def again(self) -> Case:
        return replace(self, key=f"{self.key}-again")

    @property
    def disturbs_others(self) -> bool:
        return any(
            isinstance(problem, Answered) or (isinstance(problem, Trouble) and problem.kills)
            for problem in self.problems
        )

    @property
    def concerns_sweep(self) -> bool:
        """It is a certain query of the next sweep that is to fail."""
        return any(isinstance(problem, Trouble) and problem.point.of_sweep for problem in self.problems)

    def __str__(self) -> str:
        return f"{self.key} ({'; '.join(map(str, (*self.problems, *self.acts)))})"


@dataclass(slots=True)
class Played:
    """A case that is over. `broken`: what is wrong; `doubtful`: what is, unless other cases are to blame for it."""

    case: Case
    plans: Sequence[Plan]
    acted: Counter[str]  # what an operator did
    astray: bool  # a fault that was meant for a function met us
    broken: list[str]
    doubtful: list[str]
    waived: bool = False

    @property
    def struck(self) -> int:
        """Troubles that happened."""
        return len(self._troubles) - self.astray

    @property
    def workers_lost(self) -> int:
        """At the most."""
        return sum(trouble.takes_a_worker for trouble in self._troubles)

    @property
    def not_lost(self) -> list[Loss]:
        """Losses that have cost the run no event."""
        return [plan.problem for plan in self.plans if isinstance(plan.problem, Loss) and not plan.fired]

    @property
    def _troubles(self) -> list[Trouble]:
        return [plan.problem for plan in self.plans if plan.fired and isinstance(plan.problem, Trouble)]

    @property
    def faults(self) -> Counter[str]:
        """Problems that happened; of those that go on, how often."""
        happened = Counter(self.acted)
        for plan in self.plans:
            lasting = isinstance(plan.problem, Weather | Crowd)
            happened[plan.problem.kind] += plan.fired if lasting else plan.fired > 0
        return +happened


def judged(
    arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed, order: Order, tally: Tally, *, at_once: int
) -> None:
    """Case by case, so many at a time, until the time is up."""
    outages = arena.outages
    begun: dict[str, Case] = {}

    def certain(played: Played, *, alone: bool) -> bool:
        begun[played.case.run_id] = played.case
        if played.doubtful and not played.broken and not alone:
            tally.doubt(f"{played.case}: {'; '.join(played.doubtful)}")
            return False
        tally.add(played.faults, played.struck, played.waived)
        tally.complain(f"{played.case}: {law}" for law in (*played.broken, *played.doubtful))
        return True

    def play(some: Sequence[Case], size: int, until: Order | None = None, *, alone: bool = False) -> list[Case]:
        """Those that are in doubt, as they are to be played next."""
        arena.settled()
        with _pool(size) as pool:
            doing = [pool.submit(_if_in_time, arena, case, undisturbed, until, alone=alone) for case in some]
            over = (each.result() for each in as_completed(doing))
            return [played.case.again for played in over if played and not certain(played, alone=alone)]

    doubtful = play(cases, at_once, order)
    tally.again += len(doubtful)
    doubtful = play(doubtful, A_FEW)
    quiet = [case for case in doubtful if not case.disturbs_others]
    for some in (quiet, *([case] for case in doubtful if case.disturbs_others)):
        play(some, A_FEW, alone=True)
    if not arena.settled():
        tally.complain([f"{cases[0].key} and the next: events do not come to their end"])
    for run_id, laws in judge(arena).items():
        who = begun.get(run_id) or run_id or f"one of {cases[0].key} and the next {len(cases) - 1}"
        tally.complain(f"{who}: {law}" for law in laws)
    tally.faults[OUTAGE] += arena.outages - outages


@contextmanager
def _pool(size: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(size) as pool:
        try:
            yield pool
        except BaseException:  # Ctrl-C: nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _if_in_time(
    arena: Arena, case: Case, undisturbed: Undisturbed, order: Order | None, *, alone: bool
) -> Played | None:
    """Without an order it is played in any case: it was begun, and is not left in doubt."""
    return None if order and order.time_is_up else _played(arena, case, undisturbed, alone=alone)


def _played(arena: Arena, case: Case, undisturbed: Undisturbed, *, alone: bool) -> Played:
    with ExitStack() as planned:
        with arena.between_sweeps if case.concerns_sweep else nullcontext():
            plans = planned.enter_context(arena.sky.planned(case.run_id, case.problems))
        astray: list[int] = []
        operator = Operator(arena, case.run_id, case.acts, case.patience)
        broken = list(_lived(arena, case, operator, astray))
    broken += wrong_objects(arena, case.run_id)
    played = Played(case, plans, operator.acted, bool(astray), broken, [])
    if played.struck < case.strikes:
        played.doubtful.append(f"its fault never struck: {played.struck} of {case.strikes}")
    played.broken += (f"nothing was lost: {loss}" for loss in played.not_lost)
    if case.same_ending and not broken:
        _compare(arena, played, undisturbed, alone=alone)
    elif not broken:
        played.doubtful += _uncalled_for(arena, played, undisturbed)
    return played


def _compare(arena: Arena, played: Played, undisturbed: Undisturbed, *, alone: bool) -> None:
    """A report is given up when its second worker is lost: two troubles of the case itself may be the reason."""
    run_id = played.case.run_id
    ended = ending(arena, run_id)
    other = ended.differs(undisturbed.ending)
    given_up = _given_up(arena.book.life(run_id).document["steps"])
    if not other:
        return
    if not given_up:
        played.broken.append(other)
    elif alone and max(given_up.values()) <= played.workers_lost and not ended.differs(undisturbed.ending, given_up):
        played.waived = True
    else:
        played.doubtful.append(other)


def _uncalled_for(arena: Arena, played: Played, undisturbed: Undisturbed) -> Iterator[str]:
    """What nothing that has happened explains. Events that come late or often are no reason to end otherwise."""
    causes = played.faults.keys() - {*HARMLESS, "reopen"}
    if causes - LOSSES:
        return
    steps: Mapping[str, Document] = arena.book.life(played.case.run_id).document["steps"]
    codes = {step.get("error", {}).get("code") for step in steps.values() if step["status"] == "FAILED"}
    other = ending(arena, played.case.run_id).differs(undisturbed.ending)
    if other and not (causes and codes == {"NO_WORKER"}):
        yield f"{other}, and the worst that happened was {'a lost event' if causes else 'a delay'}"
    elif played.acted["reopen"] and not causes:
        yield "had failed before it was reopened, and the worst that happened was a delay"


def _lived(arena: Arena, case: Case, operator: Operator, astray: list[int]) -> Iterator[str]:
    """The run from its begin to its end; in `astray`, when faults met us in the place of a function."""
    run_id = case.run_id
    yield from arena.begin(case.key)
    hours, ends = 0, time.monotonic() + OVER_WITHIN
    while hours < MOST_SWEEPS and time.monotonic() < ends:
        arena.rest(run_id, lambda: operator.wants_to_act() or time.monotonic() > ends)
        if operator.wants_to_act():
            operator.act()
        elif not arena.book.life(run_id).over:
            if arena.passed_over(run_id):
                yield "sweep passes over it, although it is due"
                return
            hours += 1
            if arena.look_ahead(run_id, hours):
                astray.append(hours)
        elif not operator.reopens():
            return
    yield "does not come to its end"


def _given_up(steps: Mapping[str, Document]) -> dict[str, int]:
    """Steps that lost as many workers as they can afford, and how many those are."""
    too_many = {name: LEASE_LOSSES.get(step["stepType"], MOST_LEASE_LOSSES) + 1 for name, step in steps.items()}
    return {
        name: too_many[name]
        for name, step in steps.items()
        if step.get("error", {}).get("code") == "LEASE_EXPIRED" and step.get("leaseLosses") == too_many[name]
    }
