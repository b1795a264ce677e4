"""All pairs of crash points: every two places of the market flow, each with everything that can go wrong there.

The places are found, not listed: an undisturbed run is traced, and each call of each function is one. The first fault
waits for its place; when it has struck, the second waits for its own, which may be the same place again after the
recovery. Whatever the two were, the run must end as the undisturbed one did, with the same objects.

One exception is a rule: a report whose worker vanished twice with nothing stored is not paid for a third time. Such a
run fails with LEASE_EXPIRED, and so says the number of lost leases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any, NamedTuple

from flowcore.testing.builders import REPORT
from tests.chaos.auditor import Auditor
from tests.chaos.twins.flows import functions_for, the_market_flow
from tests.chaos.twins.silence import silence
from tests.chaos.twins.simulation import Delivery, Fate, Kernel, Simulation
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.world import Call, World

RUN_ID = "run"
KINDS = ("dies before", "dies after", "silence before", "silence after", "503")
LAG = 0.02


class Place(NamedTuple):
    """A call as the trace knows it."""

    function: str
    method: str
    resource: str


class Fault(NamedTuple):
    place: Place
    kind: str

    def __str__(self) -> str:
        return f"{self.place.function} {self.kind} {self.place.method} {self.place.resource}"


@dataclass(slots=True)
class Ambush:
    """Trouble at the given places, one after the other, and none besides."""

    faults: Sequence[Fault] = ()
    fired: int = 0
    trace: list[Place] = field(default_factory=list)

    def skew(self, function: str) -> float:
        return 0.0

    def arrivals(self, function: str, author: str) -> Sequence[tuple[float, bool]]:
        return ((LAG, True),)

    def comes_again(self, delivery: Delivery) -> float | None:
        return 10.0 * 2.0**delivery.attempt

    def fate(self, function: str, call: Call) -> Fate:
        place = Place(function, call.method, call.resource)
        self.trace.append(place)
        if self.fired == len(self.faults) or self.faults[self.fired].place != place:
            return Fate(LAG)
        kind = self.faults[self.fired].kind
        self.fired += 1
        match kind:
            case "dies before":
                return Fate(LAG, effect=False, death=True)
            case "dies after":
                return Fate(LAG, death=True)
            case "silence before":
                return Fate(LAG, effect=False, after=call.timeout, error=silence(call))
            case "silence after":
                return Fate(LAG, after=call.timeout, error=silence(call))
            case _:
                return Fate(LAG, effect=False, error=silence(call))


@dataclass(frozen=True, slots=True)
class Ending:
    """What has to be the same: how the run and its steps ended, and whose objects there are."""

    run: str
    steps: tuple[tuple[str, str], ...]
    objects: tuple[tuple[str, str | None, str | None], ...]


@dataclass(slots=True)
class Walk:
    """The market flow once, with an ambush."""

    stage: Stage
    ambush: Ambush
    kernel: Kernel = field(default_factory=Kernel)
    violations: list[str] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Ending:
        flow = the_market_flow(RUN_ID)
        world = World(Random(0))
        simulation = Simulation(world, self.stage, self.ambush, functions_for(flow), self.kernel)
        simulation.put(RUN_ID, flow)
        simulation.until_quiet()
        self.violations += Auditor().hear(world.book).verdict(read=lambda name: world.artifacts.objects[name][1])
        if simulation.restless:
            self.violations.append("does not come to rest")
        self.document = dict(simulation.document)
        steps = sorted((name, step["status"]) for name, step in self.document["steps"].items())
        objects = sorted(
            (name, stored.metadata.get("run"), stored.metadata.get("step"))
            for name, (stored, _) in world.artifacts.objects.items()
            if ".attempt-" not in name  # evidence of a failed attempt: the auditor's business
        )
        return Ending(self.document["status"], tuple(steps), tuple(objects))


def places(stage: Stage) -> list[Place]:
    """Every call of an undisturbed run."""
    ambush = Ambush()
    Walk(stage, ambush).run()
    return list(dict.fromkeys(ambush.trace))


def all_pairs(stage: Stage) -> list[tuple[Fault, Fault]]:
    points = [Fault(place, kind) for place in places(stage) for kind in KINDS]
    return list(product(points, points))


def broken_by(pair: tuple[Fault, Fault], undisturbed: Ending, stage: Stage, kernel: Kernel) -> tuple[int, list[str]]:
    """How many of the two faults struck, and what was broken."""
    walk = Walk(stage, Ambush(pair), kernel)
    ending = walk.run()
    if ending != undisturbed and not _given_up(walk.document, ending, undisturbed):
        walk.violations.append(f"ended as {ending}")
    return walk.ambush.fired, walk.violations


def _given_up(document: dict[str, Any], ending: Ending, undisturbed: Ending) -> bool:
    report = document["steps"][REPORT]
    others = [step for step in undisturbed.steps if step[0] != REPORT]
    return (
        ending.run == "FAILED"
        and report.get("error", {}).get("code") == "LEASE_EXPIRED"
        and report["leaseLosses"] == 2
        and [step for step in ending.steps if step[0] != REPORT] == others
        and {*ending.objects} < {*undisturbed.objects}
    )
