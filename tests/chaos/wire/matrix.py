"""The crash matrix: every point with every trouble, and pairs of them. A seed is the same cases every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from random import Random

from tests.chaos.battery import Order
from tests.chaos.wire.cases import Case
from tests.chaos.wire.dropped import ORCHESTRATOR
from tests.chaos.wire.flow import LONG, SHORT
from tests.chaos.wire.points import KINDS, Point, Problem, Trouble
from tests.chaos.wire.tracing import Undisturbed


def every_point(found: Undisturbed, order: Order) -> list[Case]:
    chosen: list[tuple[Problem, ...]] = [(Trouble(point, kind),) for kind in KINDS for point in sorted(found.points)]
    chosen += [(ORCHESTRATOR, Trouble(point, kind)) for kind in KINDS for point in sorted(found.swept)]
    dies = Trouble(next(point for point in found.points if point.service == "storage"), "dies before")
    chosen += [(dies, Trouble(point, kind)) for kind in KINDS for point in sorted(found.cold)]
    return _mixed("point", chosen, order)


def further_points(long: Undisturbed, short: Undisturbed, order: Order) -> list[Case]:
    """The calls that only the long flow makes; it is moved on, and its processes are started, as the short one's."""
    known = {point._replace(resource=point.resource.replace(SHORT.timeframe, LONG.timeframe)) for point in short.points}
    return _mixed(
        "long", [(Trouble(point, kind),) for kind in KINDS for point in sorted({*long.points} - known)], order
    )


def pairs(found: Undisturbed, order: Order) -> list[Case]:
    """Two troubles of one run; after the first the second may have no occasion any more, but mostly it has."""
    return _pairs("pair", found, order, lambda points: all(_is_its_own(point) for point in points))


def shared_pairs(found: Undisturbed, order: Order) -> list[Case]:
    """One of them, at the least, with a call that does not say whose it is: it may strike another run instead."""
    return _pairs("shared", found, order, lambda points: not all(_is_its_own(point) for point in points))


def _mixed(name: str, chosen: Sequence[tuple[Problem, ...]], order: Order) -> list[Case]:
    """So that not all kills come at once; and a sample when fewer are wanted."""
    mixed = Random(order.seed).sample(chosen, len(chosen))[: order.cases]
    return [
        Case(f"{name}-{order.seed}-{number}", problems, strikes=sum(isinstance(each, Trouble) for each in problems))
        for number, problems in enumerate(mixed)
    ]


def _pairs(name: str, found: Undisturbed, order: Order, fits: Callable[[Sequence[Point]], bool]) -> list[Case]:
    chance = Random(order.seed)
    drawn = (_a_pair(found, chance) for _ in count())
    fitting = (pair for pair in drawn if fits([each.point for each in pair if isinstance(each, Trouble)]))
    return [Case(f"{name}-{order.seed}-{number}", next(fitting), strikes=1) for number in range(order.cases)]


def _a_pair(found: Undisturbed, chance: Random) -> tuple[Problem, ...]:
    swept = chance.random() < 0.25
    points = {*found.points, *found.swept} if swept else found.points
    two = [Trouble(point, chance.choice(list(KINDS))) for point in chance.sample(sorted(points), 2)]
    return (ORCHESTRATOR, *two) if swept else tuple(two)


def _is_its_own(point: Point) -> bool:
    return point.of_a_run or point.of_sweep
