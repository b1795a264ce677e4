"""Secrets on every path that a step can take: none of them may be found outside of where it belongs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flowcore.domain.errors import REGISTRY
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.leaks.controls import missed
from tests.chaos.leaks.failures import Path, paths
from tests.chaos.leaks.house import House, opened

NAME: Final = "leaks: secrets on every path"


def run(order: Order) -> Outcome:
    """The table is the same for every seed; where there is no time for all of it, the seed says where to begin."""
    table = paths()
    first = order.seed % len(table)
    with opened() as house:
        return looked_at(house, [*table[first:], *table[:first]][: order.cases], order)


def looked_at(house: House, chosen: Sequence[Path], order: Order) -> Outcome:
    violations: list[str] = []
    done = fired = 0
    progress = Progress(NAME, len(chosen))
    for path in chosen:
        if order.time_is_up:
            break
        house.renew()
        path.arrange(house)
        after = house.play(path.run())
        found = [*missed(house, path, after), *house.structured(), *_unknown_codes(after)]
        found += [leak for place in house.places() for leak in place.leaks()]
        fired += house.fault.fired if house.fault else 0
        done += 1
        violations += [f"{NAME}: {path.name}: {leak}" for leak in dict.fromkeys(found)]
        progress.tell(done, len(violations))
    return Outcome(NAME, done, fired, tuple(violations))


def _unknown_codes(after: dict[str, Any]) -> list[str]:
    """The path was taken to a documented end, too."""
    codes = [step["error"]["code"] for step in after.get("steps", {}).values() if "error" in step]
    return [f"it ended as {code}" for code in codes if code not in REGISTRY or code == "INTERNAL"]


BATTERIES = (Battery(NAME, len(paths()), 1.0, run),)
