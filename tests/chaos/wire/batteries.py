"""The batteries on the wire: every point, pairs of points, and storms."""

from __future__ import annotations

from random import Random

from tests.chaos.battery import Battery, Order, Outcome
from tests.chaos.wire.arena import opened
from tests.chaos.wire.cases import Case, Undisturbed, judged
from tests.chaos.wire.points import KINDS, Crowd, Point, Trouble, Weather

SHAPES = ("duplicate", "reorder", "delay", "drop")
# A hanging call takes its time, and a killed process seconds to come back: in a storm they are the rarer ones.
MIXED = ("loses the reply of", "is told 503 by") * 3 + ("dies before", "dies after", "waits in vain for")


def every_point(points: tuple[Point, ...], order: Order) -> list[Case]:
    """All of them in the full form, and a sample of all kinds when fewer are wanted."""
    troubles = [Trouble(point, kind) for kind in KINDS for point in points]
    chosen = troubles if order.cases >= len(troubles) else Random(order.seed).sample(troubles, order.cases)
    return [Case(f"point-{order.seed}-{number}", (trouble,)) for number, trouble in enumerate(chosen)]


def pairs(points: tuple[Point, ...], order: Order) -> list[Case]:
    chance = Random(order.seed)
    kinds = tuple(KINDS)
    return [
        Case(
            f"pair-{order.seed}-{number}",
            tuple(Trouble(point, chance.choice(kinds)) for point in chance.sample(points, 2)),
        )
        for number in range(order.cases)
    ]


def storms(points: tuple[Point, ...], order: Order) -> list[Case]:
    return [_a_storm(points, order.seed, number) for number in range(order.cases)]


def _a_storm(points: tuple[Point, ...], seed: int, number: int) -> Case:
    chance = Random(f"{seed}/{number}")
    troubles: list[Trouble | Weather | Crowd] = [
        Trouble(chance.choice(points), chance.choice(MIXED)) for _ in range(chance.randint(0, 4))
    ]
    troubles += [
        Weather(shape, chance.uniform(0.01, 0.3), chance.randrange(2**32))
        for shape in chance.sample(SHAPES, chance.randint(1, 3))
    ]
    if chance.random() < 0.2:
        troubles.append(Crowd(chance.choice((2.0, 5.0))))
    return Case(
        f"storm-{seed}-{number}",
        tuple(troubles),
        same_ending=False,
        cancelled=chance.random() < 0.1,
        retried=chance.random() < 0.5,
    )


KINDS_OF_CASES = {"matrix": every_point, "pairs": pairs, "storms": storms}


def run(name: str, order: Order) -> Outcome:
    with opened() as arena:
        arena.operators = name == "storms"
        undisturbed = Undisturbed.traced(arena, f"{name}-{order.seed}")
        cases = KINDS_OF_CASES[name](undisturbed.points, order)
        return judged(arena, cases, undisturbed, order, f"wire: {name}")


BATTERIES = (
    Battery("wire: matrix", 155, 0.15, lambda order: run("matrix", order)),
    Battery("wire: pairs", 300, 0.1, lambda order: run("pairs", order)),
    Battery("wire: storms", 2_000, 0.3, lambda order: run("storms", order)),
)
