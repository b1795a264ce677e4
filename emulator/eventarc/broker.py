"""From a commit to the functions: who is told, what goes wrong on the way, what is tried again, what is given up."""

import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from emulator.eventarc.events import Event, event_of
from emulator.eventarc.journal import Journal
from emulator.eventarc.lane import Delivery, Lane
from emulator.eventarc.post import NotDelivered, post
from emulator.eventarc.retrying import next_delay
from emulator.eventarc.triggers import Subscription
from emulator.faults import AFTER, BEFORE, Disconnected, Fault, Faults, StatusReturned
from emulator.faults.book import NO_FAULT
from emulator.firestore.changes import Commit

SERVICE: Final = "eventarc"
HELD_BACK: Final = 1.0  # seconds, when a fault names none


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that nobody will get, and why."""

    event: Event
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """What became of the events: under way, arrived, lost as promised, given up."""

    pending: tuple[Event, ...]
    delivered: int
    dropped: int
    dead_letters: tuple[DeadLetter, ...]


class Broker:
    """`time_scale` makes the cloud's seconds shorter: with 3600 a day of trying again passes in 24 seconds."""

    def __init__(
        self,
        faults: Faults,
        *,
        journal: Journal | None = None,
        time_scale: float = 1.0,
        location: str = "nam5",
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._faults = faults
        self._journal = journal
        self._scale = time_scale
        self._location = location
        self._clock = clock
        self._chance = chance or random.Random()  # noqa: S311 - when to try again is no secret
        self._tell = tell
        self._lanes: dict[str, tuple[Subscription, Lane]] = {}
        self._pending: dict[str, Event] = {}
        self._dead: dict[str, DeadLetter] = {}
        self._delivered = self._dropped = 0
        self._lock = threading.RLock()
        self._commits: queue.Queue[Commit | None] = queue.Queue()
        self._router = threading.Thread(target=self._route, name=SERVICE, daemon=True)
        self.read_through = self._remembered()

    # --- who is told -----------------------------------------------------------------------------------------

    def subscribe(self, subscription: Subscription) -> None:
        """Tell this function from now on, and of what an earlier life of the platform did not get through to it."""
        name = subscription.function
        lane = Lane(name, subscription.concurrency, self._attempt, self._clock)
        with self._lock:
            old = self._lanes.get(name)
            self._lanes[name] = (subscription, lane)
            waiting = [event for event in self._pending.values() if event.function == name]
        if old:
            old[1].stop()
        for event in waiting:
            self._begin(event)

    def start(self) -> None:
        self._router.start()

    def publish(self, commit: Commit) -> None:
        """Called for each commit while its writer waits, so it only takes note."""
        self._commits.put(commit)

    def _route(self) -> None:
        while commit := self._commits.get():
            with self._lock:
                events = [event for event in self._events(commit) if event.key not in self._pending]
                if self._journal:
                    self._journal.accept(commit.last_sequence, events)
                self._pending.update({event.key: event for event in events})
            for event in events:
                self._begin(event)
            self._commits.task_done()

    def _events(self, commit: Commit) -> list[Event]:
        return [
            event_of(change, subscription, self._location)
            for change in commit.changes
            for subscription, _ in self._lanes.values()
            if subscription.wants(change)
        ]

    def _begin(self, event: Event) -> None:
        if event.too_large:
            self._bury(event, f"an event has at most 512 KB, and this one {len(event.body)} bytes")
            return
        now = self._clock()
        self._lane(event).put(Delivery(event, born=now, due=now))

    # --- one attempt -----------------------------------------------------------------------------------------

    def _attempt(self, delivery: Delivery) -> None:
        if not delivery.twin and delivery.event.key not in self._pending:
            return  # cleared meanwhile
        fault = NO_FAULT if delivery.excused else self._asked(delivery.event)
        if fault.shape is None:
            self._send(delivery, fault)
        else:
            self._misroute(delivery, fault)

    def _asked(self, event: Event) -> Fault:
        return self._faults.decide(SERVICE, event.function, event.document) or NO_FAULT

    def _misroute(self, delivery: Delivery, fault: Fault) -> None:
        """The ways in which a message broker, and nobody else, can get it wrong."""
        event, lane = delivery.event, self._lane(delivery.event)
        later = self._clock() + (fault.wait or HELD_BACK)
        delivery.excused = True
        match fault.shape:
            case "drop":
                self._drop(event, "lost on the way")
            case "delay":
                delivery.due = later
                lane.put(delivery)
            case "reorder":
                delivery.due = later
                lane.hold(delivery)
            case "duplicate":
                now = self._clock()
                lane.put(Delivery(event, born=now, due=now + fault.wait, excused=True, twin=True))
                self._send(delivery, NO_FAULT)

    def _send(self, delivery: Delivery, fault: Fault) -> None:
        delivery.attempts += 1
        began = self._clock()
        try:
            self._faults.meet(fault, BEFORE)
            post(delivery.event, self._lanes[delivery.event.function][0])
            self._faults.meet(fault, AFTER)
        except (NotDelivered, StatusReturned, Disconnected) as failure:
            delivery.failure = str(failure)
            self._note(delivery, delivery.failure, began)
            self._failed(delivery)
        else:
            self._note(delivery, "delivered", began)
            self._arrived(delivery)

    def _arrived(self, delivery: Delivery) -> None:
        if not delivery.twin and self._close(delivery.event):
            with self._lock:
                self._delivered += 1
        self._lane(delivery.event).overtaken()

    def _failed(self, delivery: Delivery) -> None:
        event, now = delivery.event, self._clock()
        if delivery.twin:
            return
        if not self._lanes[event.function][0].retry:
            self._drop(event, f"{delivery.failure}, and retry is off")
            return
        delay = next_delay(delivery.attempts, (now - delivery.born) * self._scale, self._chance)
        if delay is None:
            self._bury(event, f"{delivery.failure}, the last of {delivery.attempts} times")
        else:
            delivery.excused = False
            delivery.due = now + delay / self._scale
            self._lane(event).put(delivery)

    # --- what became of it -------------------------------------------------------------------------------------

    def _close(self, event: Event) -> bool:
        with self._lock:
            if self._pending.pop(event.key, None) is None:
                return False  # cleared while it was under way
            if self._journal:
                self._journal.settle(event.key)
            return True

    def _drop(self, event: Event, reason: str) -> None:
        if self._close(event):
            with self._lock:
                self._dropped += 1
            self._tell(f"{event.kind} {event.document} → {event.function}: dropped: {reason}")

    def _bury(self, event: Event, reason: str) -> None:
        with self._lock:
            if self._pending.pop(event.key, None) is None:
                return
            self._dead[event.key] = DeadLetter(event, reason)
            if self._journal:
                self._journal.bury(event.key, reason)
        self._tell(f"{event.kind} {event.document} → {event.function}: given up: {reason}")

    def _note(self, delivery: Delivery, outcome: str, began: float) -> None:
        event, took = delivery.event, self._clock() - began
        detail: dict[str, Any] = {"id": event.id, "type": event.kind, "attempt": delivery.attempts, "outcome": outcome}
        self._faults.history.record("event", SERVICE, event.function, event.document, **detail)
        again = f", attempt {delivery.attempts}" if delivery.attempts > 1 else ""
        self._tell(f"{event.kind} {event.document} → {event.function}: {outcome} ({took * 1000:.0f} ms{again})")

    def _lane(self, event: Event) -> Lane:
        return self._lanes[event.function][1]

    # --- from outside ----------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        with self._lock:
            return State(tuple(self._pending.values()), self._delivered, self._dropped, tuple(self._dead.values()))

    @property
    def idle(self) -> bool:
        """Whether every commit was read, and no function has anything to wait for."""
        with self._lock:
            lanes = [lane for _, lane in self._lanes.values()]
        return not self._commits.unfinished_tasks and all(lane.empty for lane in lanes)

    def clear(self) -> None:
        """Forget all events; those under way may still arrive, and leave no trace here."""
        with self._lock:
            self._pending.clear()
            self._dead.clear()
            self._delivered = self._dropped = 0
            for _, lane in self._lanes.values():
                lane.clear()
            if self._journal:
                self._journal.forget()

    def stop(self) -> None:
        for _, lane in self._lanes.values():
            lane.stop()
        if self._router.is_alive():
            self._commits.put(None)
            self._router.join()
        if self._journal:
            self._journal.close()

    def _remembered(self) -> int | None:
        if not self._journal:
            return None
        kept = self._journal.kept
        self._pending = dict(kept.pending)
        self._dead = {key: DeadLetter(event, reason) for key, (event, reason) in kept.dead.items()}
        return kept.sequence
