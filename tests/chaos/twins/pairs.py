"""All pairs of crash points: every two calls of the market flow, each with everything that can go wrong there.

The calls are found, not listed. An undisturbed run is traced, and each of its calls is a place for the first fault. The
run with that fault is traced in its turn, with all that its recovery asks and writes, and each call after the fault is
a place for the second. Nothing here is left to chance, so both faults of a pair strike: one that does not is a
violation. Whatever the two were, the run must end as the undisturbed one did, with the same objects.

One exception is a rule: a report whose worker vanished twice with nothing stored is not paid for a third time. Such a
run fails with LEASE_EXPIRED, and so says the number of lost leases.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, NamedTuple

from flowcore.testing.builders import REPORT
from tests.chaos.twins.case import Case
from tests.chaos.twins.flows import functions_for, the_market_flow
from tests.chaos.twins.reading import each_document_once
from tests.chaos.twins.silence import silence
from tests.chaos.twins.simulation import Delivery, Fate, Kernel, Simulation
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.verdict import verdict
from tests.chaos.twins.world import Call, Record, World

RUN_ID = "run"
KINDS = ("dies before", "dies after", "waits in vain for", "waits after", "is told 503 by", "loses the reply of")
LAG = 0.02


class Place(NamedTuple):
    """A call as the trace knows it."""

    function: str
    method: str
    resource: str


class Fault(NamedTuple):
    """What goes wrong with the call of that number, counted from 0."""

    at: int
    place: Place
    kind: str

    def __str__(self) -> str:
        return f"{self.place.function} {self.kind} {self.place.method} {self.place.resource} (call {self.at})"


@dataclass(slots=True)
class Ambush:
    """Trouble at the given places, one after the other, and none besides."""

    world: World
    faults: Sequence[Fault]
    fired: int = 0
    trace: list[Place] = field(default_factory=list)

    def skew(self, function: str) -> float:
        return 0.0

    def arrivals(self, function: str, author: str) -> Sequence[tuple[float, bool]]:
        return ((LAG, True),)

    def comes_again(self, delivery: Delivery) -> float | None:
        return 10.0 * 2.0**delivery.attempt

    def fate(self, function: str, call: Call) -> Fate:
        at, place = len(self.trace), Place(function, call.method, call.resource)
        self.trace.append(place)
        if self.fired == len(self.faults) or self.faults[self.fired][:2] != (at, place):
            return Fate(LAG)
        kind = self.faults[self.fired].kind
        self.fired += 1
        self.world.record("fault", function, kind, f"{call.method} {call.resource}")
        match kind:
            case "dies before":
                return Fate(LAG, effect=False, death=True)
            case "dies after":
                return Fate(LAG, death=True)
            case "waits in vain for":
                return Fate(LAG, effect=False, after=call.timeout, error=silence(call))
            case "waits after":
                return Fate(LAG, after=call.timeout, error=silence(call))
            case "is told 503 by":
                return Fate(LAG, effect=False, error=silence(call))
            case _:
                return Fate(LAG, error=silence(call))


@dataclass(frozen=True, slots=True)
class Ending:
    """What has to be the same: how the run and its steps ended and what they handed over, and every object."""

    run: str
    steps: tuple[tuple[str, str, str], ...]  # name, status and outputs
    objects: tuple[tuple[str, ...], ...]  # name, content type, metadata and content


@dataclass(slots=True)
class Walk:
    """The market flow once, with an ambush."""

    stage: Stage
    faults: Sequence[Fault] = ()
    kernel: Kernel = field(default_factory=Kernel)
    fired: int = 0
    trace: list[Place] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    document: Mapping[str, Any] = field(default_factory=dict)
    book: list[Record] = field(default_factory=list)

    def run(self) -> Ending:
        flow = the_market_flow(RUN_ID)
        world = World(Random(0), book=self.book)
        ambush = Ambush(world, self.faults, trace=self.trace)
        simulation = Simulation(world, self.stage, ambush, functions_for(flow), self.kernel)
        simulation.put(RUN_ID, flow)
        simulation.until_quiet()
        self.violations += verdict(world)
        if simulation.restless:
            self.violations.append("does not come to rest")
        self.fired = ambush.fired
        self.document = simulation.document
        return _ending(world, self.document)


@dataclass(slots=True)
class Ambushed(Case):
    """The seed gives all of them an order, so that a part is a sample."""

    given_up: bool = False

    def run(self) -> Ambushed:
        seed, number = self.seed.split("/")
        faults = _shuffled(seed)[int(number)]
        walk = Walk(self.stage, faults, self.kernel, book=self.book)
        ending = walk.run()
        self.fired = Counter(fault.kind for fault in faults[: walk.fired])
        self.given_up = _given_up(walk, ending)
        broken = walk.violations
        if ending != _undisturbed() and not self.given_up:
            broken.append(f"ended as {ending}")
        if walk.fired != len(faults):
            broken.append(f"only {walk.fired} of the faults struck")
        self.violations += (f"{'; '.join(map(str, faults))}: {law}" for law in broken)
        return self


@cache
def all_cases() -> list[tuple[Fault, ...]]:
    """Every single fault, and every pair."""
    found: list[tuple[Fault, ...]] = []
    with Stage() as stage, each_document_once():
        for first in _faults_after((), stage):
            found.append((first,))
            found += ((first, second) for second in _faults_after((first,), stage))
    return found


@cache
def _shuffled(seed: str) -> list[tuple[Fault, ...]]:
    shuffled = list(all_cases())
    Random(seed).shuffle(shuffled)
    return shuffled


@cache
def _undisturbed() -> Ending:
    with Stage() as stage:
        return Walk(stage).run()


def _faults_after(faults: tuple[Fault, ...], stage: Stage) -> list[Fault]:
    """All that may go wrong later than that."""
    walk = Walk(stage, faults)
    walk.run()
    start = faults[-1].at + 1 if faults else 0
    return [Fault(at, place, kind) for at, place in enumerate(walk.trace) if at >= start for kind in KINDS]


def _ending(world: World, document: Mapping[str, Any]) -> Ending:
    steps = sorted((name, step["status"], _handed_over(step["outputs"])) for name, step in document["steps"].items())
    types = {record.resource: record.detail["content_type"] for record in world.book if record.kind == "object"}
    objects = sorted(
        (name, types[f"artifacts/{name}"], *_said(stored.metadata), _without_attempt(content))
        for name, (stored, content) in world.artifacts.objects.items()
        if ".attempt-" not in name  # evidence of a failed attempt: the auditor's business
    )
    return Ending(document["status"], tuple(steps), tuple(objects))


def _handed_over(outputs: Mapping[str, Any]) -> str:
    """Without its `execution`: how long it took and how often it was tried is what the faults have changed."""
    return json.dumps({key: value for key, value in outputs.items() if key != "execution"}, sort_keys=True)


def _said(metadata: Mapping[str, str]) -> list[str]:
    return [str(metadata.get(key)) for key in ("run", "step", "inputs-sha256", "outputs")]


def _without_attempt(content: bytes) -> str:
    """A report says in which attempt it was written: no model says the same twice."""
    try:
        told = json.loads(content)
    except ValueError:
        return content.hex()
    told.pop("attempt", None)
    return json.dumps(told, sort_keys=True)


def _given_up(walk: Walk, ending: Ending) -> bool:
    """Both faults were the report's, and each of them has cost it its worker."""
    report, undisturbed = walk.document["steps"][REPORT], _undisturbed()
    others = [step for step in undisturbed.steps if step[0] != REPORT]
    return (
        ending.run == "FAILED"
        and [(fault.place.function, fault.kind[:4]) for fault in walk.faults] == [("LLM_REPORT", "dies")] * 2
        and report.get("error", {}).get("code") == "LEASE_EXPIRED"
        and report["leaseLosses"] == 2
        and [step for step in ending.steps if step[0] != REPORT] == others
        and {*ending.objects} < {*undisturbed.objects}
    )
