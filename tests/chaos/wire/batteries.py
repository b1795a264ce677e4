"""The batteries on the wire: every point, pairs of points, storms, and events that never come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.wire.arena import Arena, opened
from tests.chaos.wire.cases import Case, Tally, Undisturbed, judged
from tests.chaos.wire.dropped import ORCHESTRATOR, dropped
from tests.chaos.wire.points import KINDS, Problem, Trouble
from tests.chaos.wire.storms import a_storm, clocks, outages

EVIDENCE = Path("build/chaos")
EVERY_POINT = 1_000  # more than there are
AT_ONCE = 16
STORMS_AT_ONCE = 32
SEASON = 200  # storms on one platform, before its folder grows too large to come back soon
OUTAGES = 3  # a season


def every_point(found: Undisturbed, order: Order) -> list[Case]:
    """All of them in the full form, mixed, so that not all kills come at once; a sample when fewer are wanted."""
    all_of_them: list[tuple[Problem, ...]] = [(Trouble(point, kind),) for kind in KINDS for point in found.points]
    all_of_them += [(ORCHESTRATOR, Trouble(point, kind)) for kind in KINDS for point in found.swept]
    dies = Trouble(next(point for point in found.points if point.service == "storage"), "dies before")
    all_of_them += [(dies, Trouble(point, kind)) for kind in KINDS for point in found.cold]
    chosen = Random(order.seed).sample(all_of_them, min(order.cases, len(all_of_them)))
    return [Case(f"point-{order.seed}-{number}", problems) for number, problems in enumerate(chosen)]


def pairs(found: Undisturbed, order: Order) -> list[Case]:
    chance = Random(order.seed)
    return [Case(f"pair-{order.seed}-{number}", _a_pair(found, chance)) for number in range(order.cases)]


def _a_pair(found: Undisturbed, chance: Random) -> tuple[Problem, ...]:
    swept = chance.random() < 0.25
    points = {*found.points, *found.swept} if swept else found.points
    two = [Trouble(point, chance.choice(list(KINDS))) for point in chance.sample(sorted(points), 2)]
    return (ORCHESTRATOR, *two) if swept else tuple(two)


def run(name: str, cases: Callable[[Undisturbed, Order], list[Case]], order: Order) -> Outcome:
    with opened() as arena:
        found = Undisturbed.traced(arena)
        chosen = cases(found, order)
        tally = Tally(Progress(name, len(chosen)))
        judged(arena, chosen, found, order, tally, at_once=AT_ONCE)
        _kept(arena, tally, chosen)
        return tally.outcome()


def storms(order: Order, name: str = "wire: storms") -> Outcome:
    """A season after the other, each on a platform of its own that is killed now and then."""
    tally = Tally(Progress(name, order.cases))
    found: Undisturbed | None = None
    for season, first in enumerate(range(0, order.cases, SEASON)):
        if order.time_is_up:
            break
        numbers = range(first, min(order.cases, first + SEASON))
        with opened(clocks(order.seed, season)) as arena:
            found = found or Undisturbed.traced(arena)
            cases = [a_storm(found.points + found.swept, order.seed, number) for number in numbers]
            with killed(arena, outages(order.seed, season, len(cases), OUTAGES)):
                judged(arena, cases, found, order, tally, at_once=STORMS_AT_ONCE)
            _kept(arena, tally, cases)
    return tally.outcome()


def _kept(arena: Arena, tally: Tally, cases: Sequence[Case]) -> None:
    """What the platform knows of cases among which one went wrong."""
    if any(case.key in violation for violation in tally.violations for case in cases):
        arena.home.evidence(EVIDENCE / cases[0].key)


@contextmanager
def killed(arena: Arena, moments: Sequence[int]) -> Iterator[None]:
    """The platform dies each time that so many more records were written."""
    start, ended = len(arena.book.records), threading.Event()

    def kill() -> None:
        for moment in moments:
            while len(arena.book.records) < start + moment:
                if ended.wait(0.01):
                    return
            arena.outage()

    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        try:
            yield
        finally:
            ended.set()
        killing.result()  # raises when it never came back


BATTERIES = (
    Battery("wire: matrix", EVERY_POINT, 6.0, lambda order: run("wire: matrix", every_point, order)),
    Battery("wire: pairs", 300, 8.0, lambda order: run("wire: pairs", pairs, order)),
    Battery("wire: dropped", 60, 2.0, lambda order: run("wire: dropped", dropped, order)),
    Battery("wire: storms", 2_000, 28.0, storms),
)
