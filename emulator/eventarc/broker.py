"""From a commit to the functions: who is told, what goes wrong on the way, what is tried again, what is given up."""

import queue
import random
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from emulator.eventarc.events import Event, event_of
from emulator.eventarc.lane import Delivery, Lane
from emulator.eventarc.ledger import Ledger
from emulator.eventarc.post import NotDelivered, post
from emulator.eventarc.retrying import next_delay
from emulator.eventarc.triggers import Subscription
from emulator.faults import AFTER, BEFORE, Disconnected, Fault, Faults, StatusReturned
from emulator.faults.book import NO_FAULT
from emulator.firestore.changes import Commit

SERVICE: Final = "eventarc"
HELD_BACK: Final = 1.0  # seconds, when a fault names none


class Broker:
    """`time_scale` makes the cloud's seconds shorter: with 3600 a day of trying again passes in 24 seconds."""

    def __init__(
        self,
        ledger: Ledger,
        faults: Faults,
        *,
        time_scale: float = 1.0,
        location: str = "nam5",
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._scale = time_scale
        self._location = location
        self._clock = clock
        self._wall_clock = wall_clock
        self._chance = chance or random.Random()  # noqa: S311 - when to try again is no secret
        self._tell = tell
        self._subscriptions: dict[str, Subscription] = {}
        self._lanes: dict[str, Lane] = {}
        self._leaving: list[Lane] = []  # of functions that are told no more, but may still be at work on the last
        self._lock = threading.RLock()  # who is told, and what begins
        self._commits: queue.Queue[Commit | None] = queue.Queue()
        self._router = threading.Thread(target=self._route, name=SERVICE, daemon=True)

    # --- who is told -----------------------------------------------------------------------------------------

    def subscribe(self, subscription: Subscription) -> None:
        """Tell this function from now on, and of what an earlier one of its name did not get."""
        name = subscription.function
        with self._lock:
            if old := self._lanes.get(name):
                old.stop()
            self._lanes[name] = Lane(name, subscription.concurrency, self._attempt, self._clock)
            self._subscriptions[name] = subscription
            for event in self._ledger.state.pending:
                if event.function == name:
                    self._begin(event)

    def unsubscribe(self, function: str) -> None:
        """Tell this function nothing any more. What it did not get is gone, as with a deleted trigger in the cloud."""
        with self._lock:
            self._subscriptions.pop(function, None)
            if lane := self._lanes.pop(function, None):
                lane.stop()
                lane.clear()
                self._leaving = [each for each in self._leaving if not each.empty] + [lane]
            for event in self._ledger.state.pending:
                if event.function == function:
                    self._drop(event, "its trigger is gone")

    def start(self) -> None:
        self._router.start()

    def publish(self, commit: Commit) -> None:
        """Called for each commit while its writer waits, so it only takes note."""
        self._commits.put(commit)

    def _route(self) -> None:
        while commit := self._commits.get():
            try:
                for event in self._ledger.accept(commit.last_sequence, self._events(commit)):
                    self._begin(event)
            except Exception:  # noqa: BLE001 - whatever it is: the next commits have events, too
                self._tell(f"the events of change {commit.last_sequence} are lost: {traceback.format_exc()}")
            finally:
                self._commits.task_done()

    def _events(self, commit: Commit) -> list[Event]:
        return [
            event_of(change, subscription, self._location)
            for change in commit.changes
            for subscription in tuple(self._subscriptions.values())
            if subscription.wants(change)
        ]

    def _begin(self, event: Event) -> None:
        if event.too_large:
            self._bury(event, f"an event has at most 512 KB, and this one {len(event.body)} bytes")
            return
        now = self._clock()
        born = now - max(0.0, self._wall_clock() - event.time)  # maybe in an earlier life: its day goes on
        self._put(Delivery(event, born, due=now, attempts=self._ledger.attempts(event)))

    def _put(self, delivery: Delivery, *, held: bool = False) -> None:
        with self._lock:
            lane = self._lanes.get(delivery.event.function)
            if lane is None:
                self._drop(delivery.event, "its trigger is gone")
            elif held:
                lane.hold(delivery)
            else:
                lane.put(delivery)

    # --- one attempt -----------------------------------------------------------------------------------------

    def _attempt(self, delivery: Delivery) -> None:
        event = delivery.event
        if not delivery.twin and not self._ledger.open(event):
            return  # cleared meanwhile
        subscription, lane = self._subscriptions.get(event.function), self._lanes.get(event.function)
        if subscription is None or lane is None:
            return  # unsubscribed meanwhile
        fault = None if delivery.excused else self._faults.decide(SERVICE, event.function, event.document)
        if fault and fault.shape:
            self._misroute(delivery, fault, subscription, lane)
        else:
            self._send(delivery, fault or NO_FAULT, subscription, lane)

    def _misroute(self, delivery: Delivery, fault: Fault, subscription: Subscription, lane: Lane) -> None:
        """The ways in which a message broker, and nobody else, can get it wrong."""
        event, now = delivery.event, self._clock()
        delivery.excused = True
        match fault.shape:
            case "drop":
                self._drop(event, "lost on the way")
            case "delay":
                delivery.due = now + (fault.wait or HELD_BACK)
                self._put(delivery)
            case "reorder":
                delivery.due = now + (fault.wait or HELD_BACK)
                self._put(delivery, held=True)
            case "duplicate" | "triplicate":
                for _ in range(1 if fault.shape == "duplicate" else 2):
                    self._put(Delivery(event, born=now, due=now + fault.wait, excused=True, twin=True))
                self._send(delivery, NO_FAULT, subscription, lane)

    def _send(self, delivery: Delivery, fault: Fault, subscription: Subscription, lane: Lane) -> None:
        delivery.attempts += 1
        began = self._clock()
        try:
            self._faults.meet(fault, BEFORE)
            post(delivery.event, subscription)
            self._faults.meet(fault, AFTER)
        except (NotDelivered, StatusReturned, Disconnected) as failure:
            self._note(delivery, str(failure), began)
            self._failed(delivery, str(failure), subscription)
        else:
            self._note(delivery, "delivered", began)
            if not delivery.twin:
                self._ledger.deliver(delivery.event)
            lane.overtaken()

    def _failed(self, delivery: Delivery, failure: str, subscription: Subscription) -> None:
        event, now = delivery.event, self._clock()
        if delivery.twin:
            return
        if not subscription.retry:
            self._drop(event, f"{failure}, and retry is off")
            return
        delay = next_delay(delivery.attempts, (now - delivery.born) * self._scale, self._chance)
        if delay is None:
            self._bury(event, f"{failure}, the last of {delivery.attempts} times")
            return
        self._ledger.tried(event, delivery.attempts)
        delivery.excused = False
        delivery.due = now + delay / self._scale
        self._put(delivery)

    # --- what is said of it ----------------------------------------------------------------------------------

    def _drop(self, event: Event, reason: str) -> None:
        if self._ledger.drop(event):
            self._tell(f"{event}: dropped: {reason}")

    def _bury(self, event: Event, reason: str) -> None:
        if self._ledger.bury(event, reason):
            self._tell(f"{event}: given up: {reason}")

    def _note(self, delivery: Delivery, outcome: str, began: float) -> None:
        event, attempt = delivery.event, delivery.attempts
        self._faults.history.record(
            "event",
            SERVICE,
            event.function,
            event.document,
            id=event.id,
            type=event.kind,
            attempt=attempt,
            outcome=outcome,
        )
        again = f", attempt {attempt}" if attempt > 1 else ""
        self._tell(f"{event}: {outcome} ({(self._clock() - began) * 1000:.0f} ms{again})")

    # --- from outside ----------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether every commit was read, and no function has anything to wait for."""
        return not self._commits.unfinished_tasks and not self.busy and all(lane.empty for lane in self._leaving)

    @property
    def busy(self) -> list[str]:
        """The functions with something to do, or to wait for."""
        return [name for name, lane in tuple(self._lanes.items()) if not lane.empty]

    def clear(self) -> None:
        """Forget all events; those under way may still arrive, and leave no trace here."""
        for lane in self._lanes.values():
            lane.clear()
        self._ledger.clear()  # last: what a lane gets meanwhile is not open any more, and goes nowhere

    def stop(self) -> None:
        for lane in self._lanes.values():
            lane.stop()
        if self._router.is_alive():
            self._commits.put(None)
            self._router.join()
