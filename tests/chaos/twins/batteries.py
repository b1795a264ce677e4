"""The batteries of the twins, in one process for a few cases and in one for each core for many."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.chaos.battery import Battery, Order, Outcome, Progress, listed
from tests.chaos.twins.dropped import Silenced
from tests.chaos.twins.pairs import Ambushed
from tests.chaos.twins.reading import each_document_once
from tests.chaos.twins.simulation import Kernel
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.storms import Schedule

PART = 250  # cases that a process takes at once
KEPT = 5  # violations after which a process looks no further: the first ones are enough to look into
PAIRS = 16_488  # single faults among them; a test counts them

Case = Schedule | Silenced | Ambushed
CASES: dict[str, type[Case]] = {"storms": Schedule, "pairs": Ambushed, "dropped": Silenced}


@dataclass(slots=True)
class Tally:
    cases: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.cases += other.cases
        self.fired += other.fired
        self.violations += other.violations


def judged(name: str, order: Order, kernel: Kernel | None = None) -> Outcome:
    """A battery in this process, to the end of its cases or of its time, or to its first few violations."""
    return _outcome(name, _part(name, order, 0, order.cases, kernel or Kernel()))


def judged_by_all_cores(name: str, order: Order) -> Outcome:
    tally, progress = Tally(), Progress(f"twins: {name}", order.cases)
    firsts = range(0, order.cases, PART)
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of whatever threads there are
    with ProcessPoolExecutor(os.cpu_count(), context) as pool:
        parts = [pool.submit(_part, name, order, first, min(first + PART, order.cases), Kernel()) for first in firsts]
        try:
            for part in parts:
                tally.add(part.result())
                progress.tell(tally.cases, len(tally.violations))
        except BaseException:  # whoever ends us waits for the parts under way, and not for all
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return _outcome(name, tally)


def _part(name: str, order: Order, first: int, end: int, kernel: Kernel) -> Tally:
    tally = Tally()
    with Stage() as stage, each_document_once():
        for number in range(first, end):
            if order.time_is_up or len(tally.violations) >= KEPT:
                break
            case = CASES[name](f"{order.seed}/{number}", stage, kernel).run()
            tally.cases += 1
            tally.fired += case.fired
            tally.violations += (f"{name} seed {order.seed} case {number}: {law}" for law in case.violations)
    return tally


def _outcome(name: str, tally: Tally) -> Outcome:
    return Outcome(f"twins: {name}", tally.cases, tally.fired.total(), tuple(tally.violations), (listed(tally.fired),))


BATTERIES = (
    Battery("twins: storms", 100_000, 16.0, lambda order: judged_by_all_cores("storms", order)),
    Battery("twins: pairs", PAIRS, 1.5, lambda order: judged_by_all_cores("pairs", order)),
    Battery("twins: dropped", 2_000, 0.5, lambda order: judged_by_all_cores("dropped", order)),
)
