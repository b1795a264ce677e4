"""One case again, by its name and without others: python -m tests.chaos.wire point-1-17

Names are those of the violations. The platform is not killed this time; what the case leads to also depends on the
machine.
"""

from __future__ import annotations

import re
import sys
import time

from tests.chaos.battery import Order, Progress
from tests.chaos.wire.arena import opened
from tests.chaos.wire.batteries import SEASON
from tests.chaos.wire.cases import Case, judged
from tests.chaos.wire.dropped import dropped
from tests.chaos.wire.flow import LONG, SHORT
from tests.chaos.wire.matrix import every_point, further_points, pairs, shared_pairs
from tests.chaos.wire.storms import a_storm, clocks
from tests.chaos.wire.tally import Tally
from tests.chaos.wire.tracing import Undisturbed

NAME = re.compile(r"(point|long|pair|shared|dropped|storm)-(\d+)-(\d+)(?:-again)*")


def main() -> None:
    named = NAME.fullmatch(" ".join(sys.argv[1:]))
    if not named:
        sys.exit("name one case as its violation does: point-1-17, long-, pair-, shared-, dropped- or storm-")
    kind, seed, number = named.groups()
    order = Order(int(seed), int(number) + 1, time.monotonic() + 600)
    ahead = clocks(order.seed, int(number) // SEASON) if kind == "storm" else None
    with opened(ahead, LONG if kind == "long" else SHORT, hourly=kind not in ("storm", "dropped")) as arena:
        found = Undisturbed.traced(arena)
        tally = Tally(Progress(sys.argv[1], 0))
        tally.expect(1, found.digest)
        case = _drawn(kind, found, order)
        print(case)
        judged(arena, [case], found, order, tally, at_once=1)
    for violation in tally.outcome().violations:
        print(violation)


def _drawn(kind: str, found: Undisturbed, order: Order) -> Case:
    match kind:
        case "point":
            return every_point(found, order)[-1]
        case "long":
            with opened() as arena:
                return further_points(found, Undisturbed.traced(arena), order)[-1]
        case "pair":
            return pairs(found, order)[-1]
        case "shared":
            return shared_pairs(found, order)[-1]
        case "dropped":
            return dropped(found, order)[-1]
    return a_storm({*found.points, *found.swept}, order.seed, order.cases - 1)


if __name__ == "__main__":
    main()
