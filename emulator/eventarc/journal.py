"""What is not yet delivered, kept: it survives the end of the platform, also a sudden one.

A file of JSON lines, only ever appended to: an event, how far the feed was read, how often an event was tried, and what
became of it. What is
settled is left out when the file is next written anew. Nobody waits for the disk: whatever the tail loses in a power
cut is read from the Firestore's feed again, which does wait.
"""

import base64
import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from emulator.eventarc.events import Event

SLACK: Final = 2_000  # lines that may be out of date before the file is written anew


@dataclass
class Kept:
    """What a journal says: where to go on in the feed (none: never begun), and the events that are still open."""

    sequence: int | None = None
    pending: dict[str, Event] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    dead: dict[str, tuple[Event, str]] = field(default_factory=dict)


class Journal:
    """An open journal. Each call is one write, so a kill leaves at most one broken line, at the end."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "eventarc.journal"
        directory.mkdir(parents=True, exist_ok=True)
        self._kept = _read(self._path)
        self._lock = threading.Lock()
        self._lines = 0
        self._file: IO[bytes] | None = None
        self._rewrite()

    @property
    def kept(self) -> Kept:
        """A copy of what is open now."""
        with self._lock:
            kept = self._kept
            return Kept(kept.sequence, dict(kept.pending), dict(kept.attempts), dict(kept.dead))

    def accept(self, sequence: int, events: Iterable[Event] = ()) -> None:
        """These events are to be delivered, and with them the feed is read so far."""
        self._append([*({"event": _told(event)} for event in events), {"read": sequence}])

    def tried(self, key: str, attempts: int) -> None:
        self._append([{"tried": key, "attempts": attempts}])

    def settle(self, key: str) -> None:
        self._append([{"settled": key}])

    def bury(self, key: str, reason: str) -> None:
        self._append([{"dead": key, "reason": reason}])

    def forget(self) -> None:
        """Nothing is open any more."""
        with self._lock:
            self._kept = Kept(self._kept.sequence)
            self._rewrite()

    def close(self) -> None:
        with self._lock:
            if self._file:
                self._file.close()
            self._file = None

    def _append(self, records: list[dict[str, Any]]) -> None:
        with self._lock:
            if self._file is None:
                return  # a delivery that outlives the platform: it will be made once more
            self._file.write(b"".join(map(_line, records)))
            self._lines += len(records)
            for record in records:
                _apply(self._kept, record)
            if self._lines > SLACK + 2 * len(self._kept.pending):
                self._rewrite()

    def _rewrite(self) -> None:
        kept = self._kept
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as file:
            for event in [*kept.pending.values(), *(event for event, _ in kept.dead.values())]:
                file.write(_line({"event": _told(event)}))
            for key, attempts in kept.attempts.items():
                file.write(_line({"tried": key, "attempts": attempts}))
            for key, (_, reason) in kept.dead.items():
                file.write(_line({"dead": key, "reason": reason}))
            if kept.sequence is not None:
                file.write(_line({"read": kept.sequence}))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        if self._file:
            self._file.close()
        self._file = self._path.open("ab", buffering=0)
        self._lines = len(kept.pending)


def _read(path: Path) -> Kept:
    kept = Kept()
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        if not line.endswith(b"\n"):
            break  # the last write was interrupted; the feed still has what it was about
        _apply(kept, json.loads(line))
    return kept


def _apply(kept: Kept, record: dict[str, Any]) -> None:
    match record:
        case {"event": told}:
            event = Event(told["function"], told["sequence"], told["headers"], base64.b64decode(told["body"]))
            kept.pending[event.key] = event
        case {"read": sequence}:
            kept.sequence = sequence
        case {"tried": key, "attempts": attempts} if key in kept.pending:
            kept.attempts[key] = attempts
        case {"settled": key}:
            kept.pending.pop(key, None)
            kept.attempts.pop(key, None)
        case {"dead": key, "reason": reason} if key in kept.pending:
            kept.dead[key] = kept.pending.pop(key), reason
            kept.attempts.pop(key, None)


def _told(event: Event) -> dict[str, Any]:
    return {
        "function": event.function,
        "sequence": event.sequence,
        "headers": dict(event.headers),
        "body": base64.b64encode(event.body).decode(),
    }


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
