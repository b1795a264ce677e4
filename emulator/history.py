"""What happened on the platform, in the order in which it happened, for whoever audits a run afterwards.

Every call, every write and every object leaves one record with a sequence number. The newest records are kept in
memory, as many as fit: a write holds its document before and after, and these may be large. A reader who asks in time
with the last sequence it has seen misses nothing, and one who asks too late is told how many were dropped. With a file,
every record is also appended there as a line of JSON: nothing is ever dropped, and the next life of the platform goes
on counting where this one ended. What was stored, and not yet told when that life was killed, the next one tells first.
"""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

CAPACITY: Final = 200_000
MOST_BYTES: Final = 64 * 1024 * 1024  # of what the records are about; a record itself is small
_STORED: Final = re.compile(
    rb'\{"sequence": \d+, "time": [\d.]+, "kind": "(write|object)"'
)  # not parsed: files are long


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened. `kind` is "call", or what a call left behind: "write", "object", "event", "throttle".

    What there is to say of it is put into words when somebody asks: most records are never read.
    """

    sequence: int
    time: float
    kind: str
    service: str
    method: str
    resource: str
    size: int
    tell: Callable[[], Mapping[str, Any]]

    @property
    def detail(self) -> Mapping[str, Any]:
        return self.tell()

    def as_json(self) -> dict[str, Any]:
        return {**self.head(), "detail": dict(self.detail)}

    def head(self) -> dict[str, Any]:
        """All but the detail."""
        return {name: getattr(self, name) for name in ("sequence", "time", "kind", "service", "method", "resource")}


@dataclass(frozen=True, slots=True)
class Page:
    """Records in order, where to go on, and how many came too late to be kept."""

    records: tuple[Record, ...]
    next: int
    dropped: int


class History:
    """Append-only and bounded. Appending never waits for a reader."""

    def __init__(
        self, *, capacity: int = CAPACITY, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self._records: deque[Record] = deque()
        self._capacity = capacity
        self._most_bytes = most_bytes
        self._bytes = 0
        self._sequence = 0
        self._clock = clock
        self._news = threading.Condition()
        self._file: BinaryIO | None = None
        self._told_before: dict[str, Mapping[str, Any]] = {}

    def keep(self, path: Path) -> None:
        """From now on also in this file."""
        with self._news:
            reached, self._told_before = _told_in(path)
            self._sequence = max(self._sequence, reached)
            self._file = path.open("ab", buffering=0)  # one write a record: a kill leaves half a line at most

    def told_before(self, kind: str) -> Mapping[str, Any]:
        """The detail of the last "write" or "object" of an earlier life; empty when there was none."""
        return self._told_before.get(kind, {})

    def record(self, kind: str, service: str, method: str, resource: str, **detail: Any) -> Record:
        return self.record_large(kind, service, method, resource, 0, lambda: detail)

    def record_large(  # noqa: PLR0917 - the five of `record`, and how to tell
        self, kind: str, service: str, method: str, resource: str, size: int, tell: Callable[[], Mapping[str, Any]]
    ) -> Record:
        """Of something that holds so many bytes in memory; `tell` may be called at any time, or never."""
        told = json.dumps(dict(tell()), default=str) if self._file else ""
        with self._news:
            self._sequence += 1
            record = Record(self._sequence, self._clock(), kind, service, method, resource, size, tell)
            self._records.append(record)
            self._bytes += size
            while len(self._records) > self._capacity or self._bytes > self._most_bytes:
                self._bytes -= self._records.popleft().size
            if self._file and told:
                self._file.write(f'{json.dumps(record.head())[:-1]}, "detail": {told}}}\n'.encode())
            self._news.notify_all()
            return record

    def since(self, sequence: int = 0, *, limit: int | None = None, wait: float = 0.0) -> Page:
        """What came after `sequence`; with `wait`, the first news of the next seconds."""
        with self._news:
            if wait > 0:
                self._news.wait_for(lambda: self._sequence > sequence, wait)
            oldest = self._records[0].sequence if self._records else self._sequence + 1
            start = max(0, sequence + 1 - oldest)
            end = len(self._records) if limit is None else min(len(self._records), start + limit)
            records = tuple(self._records[index] for index in range(start, end))
            reached = records[-1].sequence if records else max(sequence, oldest - 1)
            return Page(records, reached, max(0, oldest - sequence - 1))

    def of(self, kind: str | None = None, *, service: str | None = None) -> list[Record]:
        """The kept records of one kind or one service."""
        return [
            record
            for record in self.since().records
            if kind in (None, record.kind) and service in (None, record.service)
        ]

    def clear(self) -> None:
        """Forget the kept records. The sequence goes on, so that a reader never sees a number twice."""
        with self._news:
            self._records.clear()
            self._bytes = 0

    def close(self) -> None:
        """Keep nothing in the file any more."""
        with self._news:
            if self._file:
                self._file.close()
            self._file = None


def _told_in(path: Path) -> tuple[int, dict[str, Mapping[str, Any]]]:
    """How far the file has counted, and its last write and object.

    Half a line at its end is cut off: it was being written when its writer ended.
    """
    path.touch()
    newest, end = b'{"sequence": 0}', 0
    stored: dict[str, bytes] = {}
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                newest, end = line, end + len(line)
                if kind := _STORED.match(line):
                    stored[kind[1].decode()] = line
        file.truncate(end)
    return int(json.loads(newest)["sequence"]), {kind: json.loads(line)["detail"] for kind, line in stored.items()}
