"""Where bytes and records live: in memory, or in a folder that survives `kill -9`.

An acknowledged write is in two places: its content in a file of its own, its record as one line of the journal. The
file is complete and synced before the line is written, and the line is synced before anyone is told. So a crash leaves
at worst a file that no line names, or the beginning of a last line; both are swept away when the folder is opened, and
neither was ever acknowledged.
"""

import fcntl
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

Entry = dict[str, Any]


class FolderInUse(Exception):
    """Someone else keeps its data there."""


class Shelf(Protocol):
    """Content by key, and a journal of entries."""

    def keep(self, data: bytes) -> str: ...
    def read(self, key: str) -> bytes: ...
    def discard(self, key: str) -> None: ...
    def append(self, entry: Entry) -> None: ...
    def entries(self) -> Iterator[Entry]: ...
    def settle(self, entries: Iterable[Entry], contents: set[str]) -> None: ...
    def close(self) -> None: ...


class Memory:
    """As long as the process lives."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def keep(self, data: bytes) -> str:
        key = uuid.uuid4().hex
        self._contents[key] = data
        return key

    def read(self, key: str) -> bytes:
        return self._contents[key]

    def discard(self, key: str) -> None:
        self._contents.pop(key, None)

    def append(self, entry: Entry) -> None:
        """Nothing to survive."""

    def entries(self) -> Iterator[Entry]:
        return iter(())

    def settle(self, entries: Iterable[Entry], contents: set[str]) -> None:
        """Nothing was left behind."""

    def close(self) -> None:
        self._contents.clear()


class Disk:
    """A folder: `journal.jsonl`, and `content/`, a file for each version of each object."""

    def __init__(self, folder: Path) -> None:
        self._contents = folder / "content"
        self._contents.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self._path = folder / "journal.jsonl"
        self._path.touch()
        self._journal = self._path.open("ab")

    def keep(self, data: bytes) -> str:
        key = uuid.uuid4().hex
        _write_durably(self._contents / key, data)
        return key

    def read(self, key: str) -> bytes:
        return (self._contents / key).read_bytes()

    def discard(self, key: str) -> None:
        (self._contents / key).unlink(missing_ok=True)

    def append(self, entry: Entry) -> None:
        end = self._journal.tell()
        try:
            self._journal.write(_line(entry))
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError:
            self._journal.truncate(end)  # or the next entry would begin in the middle of a line
            raise

    def entries(self) -> Iterator[Entry]:
        for line in self._path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return  # the crash came while it was written, so nobody was told
            yield json.loads(line)

    def settle(self, entries: Iterable[Entry], contents: set[str]) -> None:
        """Begin a journal that tells only what is still true, and sweep away content that no entry names."""
        self._journal.close()
        _write_durably(self._path, b"".join(map(_line, entries)))
        self._journal = self._path.open("ab")
        for file in self._contents.iterdir():
            if file.name not in contents:
                file.unlink()

    def close(self) -> None:
        self._journal.close()
        self._lock.close()


def _locked(path: Path) -> IO[str]:
    """Two processes in one folder would sweep away each other's content. A lock ends with its process, however."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise FolderInUse(f"{path.parent} is in use by another emulator: stop it, or choose another folder") from None
    return file


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _write_durably(path: Path, data: bytes) -> None:
    """All of it or nothing under that name, whatever happens."""
    draft = path.with_name(path.name + ".draft")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
