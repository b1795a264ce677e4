"""Everything dropped, on the wire: what `sweep` can do alone, when events are lost not now and then but always.

With every event lost no worker ever hears of its step, so all that can be asked is that the run ends. With those of the
orchestrator lost, or of each worker's the first ones, the run has to end as though nothing had been lost.
"""

from __future__ import annotations

from random import Random

from tests.chaos.battery import Order
from tests.chaos.wire.cases import Case
from tests.chaos.wire.points import Loss
from tests.chaos.wire.tracing import Undisturbed

WORKERS = ("worker_ohlcv_export", "worker_charts", "worker_llm_report")
ORCHESTRATOR = Loss("advance_flow")
MOST = 6  # a run's creation, the offer of its first step, and four nudges: the fifth is the last
ALL = (ORCHESTRATOR, *map(Loss, WORKERS))


def dropped(_: Undisturbed, order: Order) -> list[Case]:
    chance = Random(order.seed)
    return [_a_loss(f"dropped-{order.seed}-{number}", number % 3, chance) for number in range(order.cases)]


def _a_loss(key: str, kind: int, chance: Random) -> Case:
    match kind:
        case 0:
            return Case(key, ALL, same_ending=False)
        case 1:
            return Case(key, (ORCHESTRATOR,))
        case _:
            return Case(key, tuple(Loss(worker, first=chance.randint(1, MOST)) for worker in WORKERS))
