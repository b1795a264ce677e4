"""Eventarc at work: it hears of every commit, and has a port where one can see what became of the events.

GET    /                  whether it is there
GET    /__events          pending events, dead letters, and how many were delivered and dropped
DELETE /__events          forget them
/__faults, /__calls, /__history          as everywhere; the method of a delivery is the function's name
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

from emulator.eventarc.broker import Broker
from emulator.eventarc.events import Event
from emulator.eventarc.journal import Journal
from emulator.eventarc.ledger import Ledger, State
from emulator.eventarc.triggers import Subscription
from emulator.faults import Faults
from emulator.faults.http import answer, mounted
from emulator.firestore.changes import Commit, TooOld
from emulator.service import HttpService
from emulator.web import Reply, Request


class Source(Protocol):
    """A Firestore whose changes can be followed."""

    @property
    def sequence(self) -> int:
        """The number of the newest change."""

    def subscribe(self, callback: Callable[[Commit], None], after: int | None = None) -> Callable[[], None]:
        """Call back for each commit, with `after` first for those that followed it. Returns how to stop."""


class EventarcServer(HttpService):
    """Tells the subscribed functions of every change in a Firestore, from `start` on."""

    def __init__(
        self,
        firestore: Source,
        *,
        port: int = 0,
        data_dir: Path | None = None,
        faults: Faults | None = None,
        time_scale: float = 1.0,
        location: str = "nam5",
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(self._http, port=port, faults=faults or Faults())
        self._firestore = firestore
        self._tell = tell
        self._ledger = Ledger(Journal(data_dir) if data_dir else None)
        self._broker = Broker(
            self._ledger,
            self.faults,
            time_scale=time_scale,
            location=location,
            clock=clock,
            wall_clock=wall_clock,
            chance=chance,
            tell=tell,
        )
        self._unsubscribe: Callable[[], None] = lambda: None

    @property
    def state(self) -> State:
        return self._ledger.state

    def subscribe(self, subscription: Subscription) -> None:
        """Before `start`, so that a function hears of what was committed just before the platform ended."""
        self._broker.subscribe(subscription)

    def unsubscribe(self, function: str) -> None:
        """Its trigger is gone, with everything that it did not get."""
        self._broker.unsubscribe(function)

    def start(self) -> Self:
        self._broker.start()
        self._unsubscribe = self._listening()
        return super().start()

    def stop(self) -> None:
        self._unsubscribe()
        super().stop()
        self._broker.stop()
        self._ledger.close()

    def clear(self) -> None:
        self._broker.clear()

    def quiet(self, timeout: float) -> list[str]:
        """Forget all events, also those that the ones under way still cause. Returns who is not done in time."""
        return [] if _within(timeout, self._cleared_and_idle) else self._broker.busy

    def settled(self, timeout: float) -> bool:
        """Wait until every event so far has arrived or was given up."""
        return _within(timeout, lambda: self._broker.idle)

    def _cleared_and_idle(self) -> bool:
        self.clear()
        return self._broker.idle

    def _listening(self) -> Callable[[], None]:
        """Go on in the feed where an earlier life stopped; the first life begins now."""
        try:
            if self._ledger.read_through is not None:
                return self._firestore.subscribe(self._broker.publish, self._ledger.read_through)
        except TooOld as error:
            self._tell(f"events are lost: {error}")
        now = self._firestore.sequence
        self._ledger.accept(now, [])
        return self._firestore.subscribe(self._broker.publish, now)

    def _http(self, request: Request) -> Reply:
        if mounted(request.path):
            return Reply.json(*reversed(answer(self.faults, request.method, request.path, request.query, request.body)))
        match request.method, request.path:
            case "GET", "/":
                return Reply(body=b"Ok\n")
            case "GET", "/__events":
                return Reply.json(_told(self.state))
            case "DELETE", "/__events":
                self.clear()
                return Reply.json({})
        return Reply.json({"error": f"no {request.method} {request.path}"}, 404)


def _within(timeout: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _told(state: State) -> dict[str, Any]:
    return {
        "pending": [_told_event(event) for event in state.pending],
        "delivered": state.delivered,
        "dropped": state.dropped,
        "deadLetters": [{**_told_event(letter.event), "reason": letter.reason} for letter in state.dead_letters],
    }


def _told_event(event: Event) -> dict[str, Any]:
    return {"function": event.function, **{name.removeprefix("ce-"): value for name, value in event.headers.items()}}
