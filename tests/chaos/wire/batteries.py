"""The batteries on the wire: every point, pairs of points, storms, and events that never come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.wire.arena import Arena, opened
from tests.chaos.wire.cases import OUTAGE, Case, judged
from tests.chaos.wire.dropped import dropped
from tests.chaos.wire.flow import LONG
from tests.chaos.wire.matrix import every_point, further_points, pairs, shared_pairs
from tests.chaos.wire.storms import OF_EVERY_KIND, a_storm, clocks, outages
from tests.chaos.wire.tally import Tally
from tests.chaos.wire.tracing import Undisturbed

EVIDENCE = Path("build/chaos")
EVERY_POINT = 10_000  # more than there are
PAIRS = 300
DRAWN = PAIRS + 20  # of some the second trouble finds no occasion any more
SHARED = 40
AT_ONCE = 16
FEW_AT_ONCE = 4  # so that what may strike another run strikes its own, mostly
LONG_AT_ONCE = 8  # such a run is work, not waiting
SHORT_SHARE = 0.6  # of the time of the matrix, when that is not enough for all
STORMS_AT_ONCE = 32
SEASON = 200  # storms on one platform, before its folder grows too large to come back soon
OUTAGES = 3  # a season
ENOUGH = 1_000  # storms: among so many there is everything that a storm may have


def all_pairs(order: Order, name: str = "wire: pairs") -> Outcome:
    """So many that of enough both troubles strike, and strike the same run; and some that may strike two."""
    tally = Tally(Progress(name, 0))
    with opened() as arena:
        found = Undisturbed.traced(arena)
        own = pairs(found, replace(order, cases=order.cases - SHARED))
        _play(arena, own, found, order, tally, at_once=AT_ONCE)
    if tally.cases >= DRAWN and tally.struck[2] < PAIRS:
        tally.complain([f"{name}: only {tally.struck[2]} pairs of which both troubles struck"])
    with opened() as arena:
        found = Undisturbed.traced(arena)
        shared = shared_pairs(found, replace(order, cases=SHARED))
        _play(arena, shared, found, order, tally, at_once=FEW_AT_ONCE)
    return tally.outcome()


def all_lost(order: Order, name: str = "wire: dropped") -> Outcome:
    """With the sweep of every minute alone."""
    tally = Tally(Progress(name, 0))
    with opened(hourly=False) as arena:
        found = Undisturbed.traced(arena)
        _play(arena, dropped(found, order), found, order, tally, at_once=AT_ONCE)
    return tally.outcome()


def matrix(order: Order, name: str = "wire: matrix") -> Outcome:
    """Every point of the short flow, and those of the long one that only it has."""
    tally = Tally(Progress(name, 0))
    now = time.monotonic()
    with opened() as arena:
        short = Undisturbed.traced(arena)
        until = replace(order, ends=now + (order.ends - now) * SHORT_SHARE)
        _play(arena, every_point(short, order), short, until, tally, at_once=AT_ONCE)
    with opened(flow=LONG) as arena:
        long = Undisturbed.traced(arena)
        _play(arena, further_points(long, short, order), long, order, tally, at_once=LONG_AT_ONCE)
    return replace(tally.outcome(), planned=tally.progress.cases)


def storms(order: Order, name: str = "wire: storms") -> Outcome:
    """A season after the other, each on a platform of its own that is killed now and then; swept every minute only."""
    tally = Tally(Progress(name, 0))
    found: Undisturbed | None = None
    for season, first in enumerate(range(0, order.cases, SEASON)):
        if order.time_is_up:
            break
        numbers = range(first, min(order.cases, first + SEASON))
        with opened(clocks(order.seed, season), hourly=False) as arena:
            found = found or Undisturbed.traced(arena)
            cases = [a_storm({*found.points, *found.swept}, order.seed, number) for number in numbers]
            with killed(arena, outages(order.seed, season, len(cases), OUTAGES)):
                _play(arena, cases, found, order, tally, at_once=STORMS_AT_ONCE)
    if tally.cases >= ENOUGH:
        missing = sorted({*OF_EVERY_KIND, OUTAGE} - (+tally.faults).keys())
        tally.complain(f"{name}: there was never: {kind}" for kind in missing)
    return tally.outcome()


def _play(arena: Arena, cases: Sequence[Case], found: Undisturbed, order: Order, tally: Tally, *, at_once: int) -> None:
    """What the platform knows of cases among which one went wrong is kept."""
    known = len(tally.violations)
    tally.expect(len(cases), found.digest)
    judged(arena, cases, found, order, tally, at_once=at_once)
    if len(tally.violations) > known:
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
    Battery("wire: matrix", EVERY_POINT, 15.0, matrix),
    Battery("wire: pairs", DRAWN + SHARED, 15.0, all_pairs),
    Battery("wire: dropped", 60, 1.0, all_lost),
    Battery("wire: storms", 2_000, 33.0, storms),
)
