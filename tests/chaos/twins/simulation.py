"""One run of one flow, with every delivery, call and minute in the order that time and trouble give them.

Time is virtual: a heap of what happens when. Trouble decides how long things take and what goes wrong with them; here
is only what follows from it, as the platform promises it: a write makes an event for every function, a failed
invocation has its event delivered again, `sweep` is called every minute.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from math import ceil, inf
from typing import Any, NamedTuple, Protocol

from flowcore.domain.budget import TimeBudget
from flowcore.domain.model import Snapshot
from flowcore.engine.advance import Advance
from flowcore.engine.event import FlowEvent
from flowcore.engine.sweep import Sweep
from flowcore.engine.worker import Worker
from flowcore.testing.world import T0
from tests.chaos.twins.acting import step_type
from tests.chaos.twins.stepping import Killed, Stage
from tests.chaos.twins.world import Call, Log, Outside, OutsideObjects, World

MINUTE = 60.0
# Seconds, as in functions/functions.toml.
BUDGETS = {"LLM_REPORT": TimeBudget(540, 400, 120)}
OTHER_BUDGET = TimeBudget(300, 180, 60)
ADVANCE_SECONDS, SWEEP_SECONDS = 60.0, 300.0
# The platform tries an event again after 10 to 600 s. Nothing here lasts for the 24 hours after which it gives up.
MOST_DELIVERIES = 6
# Most events are not for whoever gets them. That such a one does nothing is tried on a sample; the rest is left out.
SAMPLED = 0.05
# No schedule of ours needs a tenth of it. Whoever gets here goes in circles.
MOST_ACTIONS = 20_000
# A run that is due, and that so many sweeps in a row leave as it is, is stuck.
MOST_IN_VAIN = 20


@dataclass(frozen=True, slots=True)
class Kernel:
    """The code under test. A test of the battery itself puts broken code in."""

    advance: type[Advance] = Advance
    worker: type[Worker[Any]] = Worker
    sweep: type[Sweep] = Sweep


class Delivery(NamedTuple):
    function: str
    snapshot: Snapshot | None
    run_id: str
    attempt: int = 1


class Fate(NamedTuple):
    """What becomes of one call: it takes effect after `before` seconds, or never; its end comes `after` that."""

    before: float = 0.0
    effect: bool = True
    after: float = 0.0
    error: Exception | None = None  # instead of the reply
    reply: object = None  # instead of the effect's own
    death: bool = False


class Trouble(Protocol):
    def skew(self, function: str) -> float: ...

    def arrivals(self, function: str, author: str) -> Sequence[tuple[float, bool]]:
        """When each copy of an event arrives, and whether it still has its payload. None at all: it is lost."""

    def fate(self, function: str, call: Call) -> Fate: ...

    def comes_again(self, delivery: Delivery) -> float | None:
        """When a failed delivery is tried again; None: never."""


@dataclass(slots=True)
class Simulation:
    world: World
    stage: Stage
    trouble: Trouble
    functions: Sequence[str]
    kernel: Kernel = field(default_factory=Kernel)
    restless: bool = False
    _heap: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: int = 0
    _actions: int = 0
    _heard: int = 0  # how many changes were made into events
    _tick: float = MINUTE
    _swept: int = 0  # how many changes there were at the latest sweep
    _in_vain: int = 0

    def put(self, run_id: str, document: Mapping[str, object]) -> None:
        self.world.put(run_id, document)
        self.announce("somebody")

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._numbers += 1
        heapq.heappush(self._heap, (moment, self._numbers, action))

    def deliver(self, delivery: Delivery) -> None:
        self.at(self.world.now, partial(self._begin, delivery))

    def until_quiet(self) -> None:
        """Until nothing is under way and the run waits for nothing."""
        self.stage.run(self._step)

    @property
    def latest(self) -> Snapshot:
        latest = self.world.runs.changes[-1].new
        assert latest is not None
        return latest

    @property
    def document(self) -> Mapping[str, Any]:
        return self.latest.document

    # --- time ------------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        """The next thing that happens. False: nothing ever will."""
        soonest = self._heap[0][0] if self._heap else inf
        if soonest <= self._tick or (self.restless and self._heap):
            self.world.now, _, action = heapq.heappop(self._heap)
            self._count()
            action()
            return True
        if self.restless:
            return False
        if self._wakes_at() <= self._tick:
            self.world.now = self._tick
            self._tick += MINUTE
            self._sweep()
            return True
        following = min(soonest, self._wakes_at())
        if following < inf:
            # Minutes in which `sweep` would find nothing are passed over.
            self._tick = max(self._tick + MINUTE, ceil(following / MINUTE) * MINUTE)
        return following < inf

    def _until(self, moment: float) -> None:
        """From inside an invocation: let everything happen that comes before."""
        if moment < self._tick and not (self._heap and self._heap[0][0] <= moment):
            self.world.now = moment
            self._count()
        else:
            self.at(moment, partial(self.stage.give_back, self.stage.here))
            self.stage.step_aside()
        if self.restless:
            raise Killed

    def _wakes_at(self) -> float:
        """When a sweep would find the run, in true time: its own clock may be ahead or behind."""
        document = self.document
        if document["status"] == "PENDING":
            return self.world.now
        wake = document.get("wakeAt")
        if wake is None:
            return inf
        seconds = (wake - T0) / timedelta(seconds=1) - self.trouble.skew("sweep")
        return float(max(seconds, 0.0))

    def _sweep(self) -> None:
        written = len(self.world.runs.changes)
        self._in_vain = self._in_vain + 1 if self._swept == written and not self._heap else 0
        self._swept = written
        self.restless = self._in_vain > MOST_IN_VAIN
        self._begin(Delivery("sweep", None, ""))

    def _count(self) -> None:
        self._actions += 1
        self.restless = self.restless or self._actions > MOST_ACTIONS

    # --- invocations -----------------------------------------------------------------------------------------

    def _begin(self, delivery: Delivery) -> None:
        if self.restless:
            return
        began = self.world.now
        outside = Outside(
            self.world, self.trouble.skew(delivery.function), lambda call: self._called(delivery, began, call)
        )
        try:
            self._serve(delivery, outside)
        except (Exception, Killed) as raised:  # noqa: BLE001 - the platform sees a failed invocation, whatever it was
            self.world.hear(delivery.function, raised)
            self._again(delivery)

    def _serve(self, delivery: Delivery, outside: Outside) -> None:
        event, log = FlowEvent("event", delivery.run_id, delivery.snapshot), Log(self.world.hear)
        match delivery.function:
            case "sweep":
                self.kernel.sweep(outside, outside, outside, log, SWEEP_SECONDS).minutely()
            case "advance":
                self.kernel.advance(outside, outside, outside, log, ADVANCE_SECONDS).handle(event)
            case name:
                budget, objects = BUDGETS.get(name, OTHER_BUDGET), OutsideObjects(outside)
                self.kernel.worker(step_type(name, outside), outside, objects, outside, outside, log, budget).handle(
                    event
                )

    def _called(self, delivery: Delivery, began: float, call: Call) -> object:
        """A call of an invocation, from the moment it is made to its end, as its fate has it."""
        now = self.world.now
        if call.method == "sleep":
            self._until(now + call.timeout)
            return None
        fate = self.trouble.fate(delivery.function, call)
        if now + fate.before + fate.after > began + _seconds(delivery.function):
            # The platform will have given up waiting before the call ends, and delivers the event again.
            self._again(delivery)
        self._until(now + fate.before)
        reply, error = None, fate.error
        if fate.effect:
            try:
                reply = call.effect()
            except Exception as raised:  # noqa: BLE001 - an answer like any other
                error = error or raised
            self.announce(delivery.function)
        if fate.after:
            self._until(self.world.now + fate.after)
        if fate.death:
            raise Killed
        if error:
            raise error
        return reply if fate.reply is None else fate.reply

    # --- events ----------------------------------------------------------------------------------------------

    def announce(self, author: str = "somebody") -> None:
        changes = self.world.runs.changes
        while self._heard < len(changes):
            snapshot = changes[self._heard].new
            self._heard += 1
            assert snapshot is not None
            for function in self.functions:
                if not _concerns(function, snapshot.document) and self.world.chance.random() > SAMPLED:
                    continue
                for delay, whole in self.trouble.arrivals(function, author):
                    delivery = Delivery(function, snapshot if whole else None, snapshot.run_id)
                    self.at(self.world.now + delay, partial(self._begin, delivery))

    def _again(self, delivery: Delivery) -> None:
        if delivery.function == "sweep" or delivery.attempt >= MOST_DELIVERIES:
            return
        delay = self.trouble.comes_again(delivery)
        if delay is not None:
            again = delivery._replace(attempt=delivery.attempt + 1)
            self.at(self.world.now + delay, partial(self._begin, again))


def _concerns(function: str, document: Mapping[str, Any]) -> bool:
    """Whether a worker has anything of its own in a document: a step that it could take, or one at work."""
    steps = document["steps"].values()
    return function == "advance" or any(
        step["stepType"] == function and step["status"] in ("READY", "RUNNING") for step in steps
    )


def _seconds(function: str) -> float:
    if function == "sweep":
        return SWEEP_SECONDS
    return ADVANCE_SECONDS if function == "advance" else BUDGETS.get(function, OTHER_BUDGET).invocation
