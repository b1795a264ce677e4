"""The book of every event: under way, arrived, dropped as promised, or given up. What is open is kept on disk."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from emulator.eventarc.events import Event
from emulator.eventarc.journal import Journal


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that nobody will get, and why."""

    event: Event
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """What became of the events so far."""

    pending: tuple[Event, ...]
    delivered: int
    dropped: int
    dead_letters: tuple[DeadLetter, ...]


class Ledger:
    """Each event is settled once, by whoever comes first; `False` says that it was not open any more."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._pending: dict[str, Event] = {}
        self._attempts: dict[str, int] = {}
        self._dead: dict[str, DeadLetter] = {}
        self._delivered = self._dropped = 0
        self._lock = threading.Lock()
        self.read_through: int | None = None  # the last change of the feed that an earlier life has read
        if journal:
            kept = journal.kept
            self._pending, self._attempts = kept.pending, kept.attempts
            self._dead = {key: DeadLetter(event, reason) for key, (event, reason) in kept.dead.items()}
            self.read_through = kept.sequence

    @property
    def state(self) -> State:
        with self._lock:
            return State(tuple(self._pending.values()), self._delivered, self._dropped, tuple(self._dead.values()))

    def open(self, event: Event) -> bool:
        return event.key in self._pending

    def accept(self, sequence: int, events: Iterable[Event]) -> list[Event]:
        """Those that are new. The feed is read up to `sequence` with them; after a kill it may repeat itself."""
        with self._lock:
            new = [event for event in events if event.key not in self._pending]
            if self._journal:
                self._journal.accept(sequence, new)
            self._pending.update({event.key: event for event in new})
            return new

    def attempts(self, event: Event) -> int:
        """How often it was tried in vain, also in an earlier life."""
        return self._attempts.get(event.key, 0)

    def tried(self, event: Event, attempts: int) -> None:
        with self._lock:
            if event.key in self._pending:
                self._attempts[event.key] = attempts
                if self._journal:
                    self._journal.tried(event.key, attempts)

    def deliver(self, event: Event) -> bool:
        with self._lock:
            closed = self._close(event)
            self._delivered += closed
            return closed

    def drop(self, event: Event) -> bool:
        with self._lock:
            closed = self._close(event)
            self._dropped += closed
            return closed

    def bury(self, event: Event, reason: str) -> bool:
        with self._lock:
            if not self._forgotten(event):
                return False
            self._dead[event.key] = DeadLetter(event, reason)
            if self._journal:
                self._journal.bury(event.key, reason)
            return True

    def clear(self) -> None:
        with self._lock:
            self._pending.clear()
            self._attempts.clear()
            self._dead.clear()
            self._delivered = self._dropped = 0
            if self._journal:
                self._journal.forget()

    def close(self) -> None:
        if self._journal:
            self._journal.close()

    def _close(self, event: Event) -> bool:
        if not self._forgotten(event):
            return False  # cleared while it was under way
        if self._journal:
            self._journal.settle(event.key)
        return True

    def _forgotten(self, event: Event) -> bool:
        self._attempts.pop(event.key, None)
        return self._pending.pop(event.key, None) is not None
