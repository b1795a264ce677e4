"""The journal: what was acknowledged stays, also when the process is killed in the middle of the next write.

An append-only file of records, each with its length and checksum. A commit is one record, so it is there whole or not
at all; a torn record can only be the last one, and nobody was told that it happened. Writers append in the order of
their commits, and then wait together for one fsync.

    magic │ length, crc32 │ kind, body │ length, crc32 │ kind, body │ …
"""

import errno
import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from emulator.firestore.changes import Commit
from emulator.firestore.wire import CommitRequest, Document, Write

MAGIC: Final = b"flowcore firestore journal 1\n"
_sync: Final = getattr(os, "fdatasync", os.fsync)  # macOS has only the slower one
_FRAME: Final = struct.Struct(">II")
_FOLDED: Final = struct.Struct(">QQQ")
_COMMIT: Final = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True)
class Kept:
    """A document as it was when older commits were folded away."""

    document: Document


@dataclass(frozen=True, slots=True)
class Folded:
    """Up to which change, and which time, the kept documents stand for everything; and how far the count has come."""

    lost_through: int
    time: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit, by what it left behind: whole documents, and the names of those that are gone."""

    sequence: int  # of its last change
    time: int
    database: str
    documents: tuple[tuple[str, Document | None], ...]


@dataclass(frozen=True, slots=True)
class Cleared:
    """Everything in a database was forgotten."""

    database: str


Record = Kept | Folded | Committed | Cleared


class Damaged(Exception):
    """The journal is broken in the middle, where no interrupted write can have broken it."""


class InUse(Exception):
    """Two writers would tear each other's records."""


class Journal:
    """An open journal. `append` is called under the store's lock, `sync` outside it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "firestore.journal"
        directory.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = self._opened()
        self._appended = self._synced = 0
        self._syncing = threading.Lock()

    def records(self) -> Iterator[Record]:
        """Everything that was acknowledged, in order. Cuts off a torn tail. Read once, before the first append."""
        data = self._path.read_bytes()
        position = len(MAGIC)
        while position < len(data):
            body, end = _frame_at(data, position)
            if body is None:
                if end < len(data):
                    self.close()
                    raise Damaged(f"{self._path}: the record at byte {position} is broken, and others follow it")
                break
            yield _decoded(body)
            position = end
        if position < len(data):
            self._cut(position)

    def append(self, record: Record) -> int:
        """Write a record to the file; it is safe from a power cut once `sync` returns for its number."""
        start, data = self._file.tell(), _framed(record)
        try:
            if self._file.write(data) != len(data):
                raise OSError(errno.ENOSPC, "the disk is full", str(self._path))
        except OSError:
            self._cut(start)  # or else every later record would stand behind a torn one
            raise
        self._appended += 1
        return self._appended

    def sync(self, number: int) -> None:
        """Wait until the record with this number is on the disk. Whoever comes first works for all who wait."""
        with self._syncing:
            if self._synced < number:
                reached = self._appended
                _sync(self._file.fileno())
                self._synced = reached

    def rewrite(self, records: Iterable[Record]) -> None:
        """Put these records in the place of all others, at once."""
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(MAGIC)
            file.writelines(_framed(record) for record in records)
            file.flush()
            os.fsync(file.fileno())
        self._file.close()
        fresh.replace(self._path)
        _sync_directory(self._path.parent)
        self._file = self._opened()

    def close(self) -> None:
        self._file.close()

    def _cut(self, position: int) -> None:
        self._file.truncate(position)
        self._file.seek(position)
        os.fsync(self._file.fileno())

    def _opened(self) -> BinaryIO:
        if not self._path.exists() or self._path.stat().st_size < len(MAGIC):
            self._path.write_bytes(MAGIC)
            _sync_directory(self._path.parent)
        file = self._path.open("r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise InUse(f"{self._path} is in use by another process; name another --data-dir") from error
        if file.read(len(MAGIC)) != MAGIC:
            file.close()
            raise Damaged(f"{self._path} is not a journal of this version")
        file.seek(0, os.SEEK_END)
        return file


def committed(commit: Commit) -> Committed:
    """A commit as it is kept: the old documents are known from the records before it."""
    left_behind = tuple((change.name, change.after) for change in commit.changes)
    return Committed(commit.last_sequence, commit.time, commit.database, left_behind)


# --- bytes -----------------------------------------------------------------------------------------------------


def _framed(record: Record) -> bytes:
    body = _encoded(record)
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def _frame_at(data: bytes, position: int) -> tuple[bytes | None, int]:
    """The record at a position, none when it is broken, and where the next one begins."""
    start = position + _FRAME.size
    if start > len(data):
        return None, len(data)
    length, checksum = _FRAME.unpack_from(data, position)
    body = data[start : start + length]
    if length == 0 or len(body) < length:
        return None, len(data)
    return (body if zlib.crc32(body) == checksum else None), start + length


def _encoded(record: Record) -> bytes:
    match record:
        case Kept(document):
            return b"K" + document.SerializeToString()
        case Folded(lost_through, time, sequence):
            return b"F" + _FOLDED.pack(lost_through, time, sequence)
        case Committed(sequence, time, database, documents):
            writes = [Write(update=after) if after else Write(delete=name) for name, after in documents]
            body = CommitRequest(database=database, writes=writes).SerializeToString()
            return b"C" + _COMMIT.pack(sequence, time) + body
        case Cleared(database):
            return b"X" + database.encode()


def _decoded(body: bytes) -> Record:
    kind, rest = body[:1], body[1:]
    match kind:
        case b"K":
            return Kept(Document.FromString(rest))
        case b"F":
            return Folded(*_FOLDED.unpack(rest))
        case b"C":
            sequence, time = _COMMIT.unpack_from(rest)
            request = CommitRequest.FromString(rest[_COMMIT.size :])
            return Committed(sequence, time, request.database, tuple(map(_left_behind, request.writes)))
        case b"X":
            return Cleared(rest.decode())
        case _:
            raise Damaged(f"a record of the unknown kind {kind!r}")


def _left_behind(write: Write) -> tuple[str, Document | None]:
    if write.WhichOneof("operation") == "delete":
        return write.delete, None
    return write.update.name, write.update


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
