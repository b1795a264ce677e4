"""Everything dropped: what `sweep` can do alone, when events are lost not now and then but always.

With every event lost no worker ever hears of its step, so all that can be asked is that the run ends. With the
orchestrator's events lost, or all but those of sweep's own writes, workers are at work, and every run has to succeed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.chaos.twins.case import Case
from tests.chaos.twins.flows import a_fan, a_flow, functions_for
from tests.chaos.twins.simulation import Delivery, Fate, Simulation
from tests.chaos.twins.verdict import verdict
from tests.chaos.twins.world import Call, World

RUN_ID = "run"
ALL, ORCHESTRATORS, ALL_BUT_SWEEPS = "all", "the orchestrator's", "all but sweep's"


@dataclass(slots=True)
class Loss:
    lost: str
    chance: Random
    fired: int = 0

    def skew(self, function: str) -> float:
        return 0.0

    def arrivals(self, function: str, author: str) -> Sequence[tuple[float, bool]]:
        match self.lost:
            case "all":
                arrives = False
            case "the orchestrator's":
                arrives = function != "advance"
            case _:
                arrives = author == "sweep"
        self.fired += not arrives
        return ((self.chance.expovariate(1.0), True),) if arrives else ()

    def comes_again(self, delivery: Delivery) -> float | None:
        return None

    def fate(self, function: str, call: Call) -> Fate:
        return Fate(self.chance.expovariate(50.0))


@dataclass(slots=True)
class Silenced(Case):
    def run(self) -> Silenced:
        chance = Random(self.seed)
        flow = (a_fan if chance.random() < 0.1 else a_flow)(chance, RUN_ID)
        world = World(chance, book=self.book)
        loss = Loss(chance.choice((ALL, ORCHESTRATORS, ALL_BUT_SWEEPS)), chance)
        simulation = Simulation(world, self.stage, loss, functions_for(flow), self.kernel)
        simulation.put(RUN_ID, flow)
        simulation.until_quiet()
        self.fired = Counter({"a lost event": loss.fired})
        self.violations += verdict(world)
        if simulation.restless:
            self.violations.append("does not come to rest")
        if loss.lost != ALL and simulation.document["status"] != "SUCCEEDED":
            self.violations.append(f"ended {simulation.document['status']} although {loss.lost} events alone were lost")
        return self
