"""The queue of one function: what is due first goes first, several at a time.

Nothing waits for anything else in it, so an event that is tried again, or held back, is overtaken by others.
"""

import heapq
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass

from emulator.eventarc.events import Event


@dataclass(eq=False, slots=True)
class Delivery:
    """An event under way: since when, how often it was tried, and when it is due."""

    event: Event
    born: float
    due: float
    attempts: int = 0
    excused: bool = False  # its next attempt has met its fault already
    twin: bool = False  # a second copy, by fault: nobody keeps it, nobody tries it again


class Lane:
    """Hands over each delivery when it is due. Threads are made when there is work for them."""

    def __init__(self, name: str, concurrency: int, attempt: Callable[[Delivery], None], clock: Callable[[], float]):
        self._name = name
        self._concurrency = concurrency
        self._attempt = attempt
        self._clock = clock
        self._waiting: list[tuple[float, int, Delivery]] = []
        self._held: list[Delivery] = []
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._stopped = False
        self._news = threading.Condition()

    @property
    def empty(self) -> bool:
        with self._news:
            return not (self._waiting or self._held or self._busy)

    def put(self, delivery: Delivery) -> None:
        with self._news:
            self._push(delivery)
            if len(self._threads) < min(self._concurrency, self._busy + len(self._waiting)):
                thread = threading.Thread(target=self._work, name=f"eventarc-{self._name}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._news.notify()

    def hold(self, delivery: Delivery) -> None:
        """Keep it back until another one has gone ahead, or until it is due when none comes."""
        with self._news:
            self._held.append(delivery)
            self._news.notify()

    def overtaken(self) -> None:
        """A delivery has gone through: whoever was held back for it may follow."""
        with self._news:
            self._let_go(list(self._held))

    def clear(self) -> None:
        with self._news:
            self._waiting, self._held = [], []

    def stop(self) -> None:
        """Begin nothing any more. What has begun ends by itself."""
        with self._news:
            self._stopped = True
            self._news.notify_all()

    def _push(self, delivery: Delivery) -> None:
        heapq.heappush(self._waiting, (delivery.due, next(self._order), delivery))

    def _work(self) -> None:
        while delivery := self._next():
            try:
                self._attempt(delivery)
            finally:
                with self._news:
                    self._busy -= 1

    def _next(self) -> Delivery | None:
        with self._news:
            while not self._stopped:
                now = self._clock()
                self._let_go([held for held in self._held if held.due <= now])
                if self._waiting and self._waiting[0][0] <= now:
                    self._busy += 1
                    return heapq.heappop(self._waiting)[2]
                due = min([held.due for held in self._held] + [due for due, *_ in self._waiting[:1]], default=None)
                self._news.wait(None if due is None else due - now)
            return None

    def _let_go(self, ready: list[Delivery]) -> None:
        for delivery in ready:
            self._held.remove(delivery)
            delivery.due = min(delivery.due, self._clock())
            self._push(delivery)
            self._news.notify()
