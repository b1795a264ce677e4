"""The ways in which bytes come in: at once with their metadata, or piece by piece in a session that can be resumed.

A session outlives its connection, so that an upload of many minutes survives a network that does not. It lives in
memory: after a restart of the emulator its address is unknown (404), and the client has to begin again.
"""

import re
import threading
import uuid
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, Final

from emulator.storage.checksums import Checksums
from emulator.storage.conditions import Conditions
from emulator.storage.errors import StorageError, invalid
from emulator.storage.ranges import Brought
from emulator.storage.records import StoredObject

TYPE: Final = re.compile(rb"^content-type:[ \t]*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
QUANTUM: Final = 256 * 1024  # a piece that is not the last is kept down to a multiple of this


def parts_of(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """The content types and bytes of a `multipart/…` body."""
    line = b"--" + _boundary(content_type)
    newline = b"\r\n" if body.lstrip(b"\r\n").startswith(line + b"\r\n") else b"\n"
    sections = re.split(rb"(?:^|" + newline + b")" + re.escape(line), body)[1:]
    if not sections or not sections[-1].startswith(b"--"):
        raise invalid("Malformed multipart body: the closing boundary is missing.")
    return [_part(section) for section in sections[:-1]]


def _boundary(content_type: str) -> bytes:
    message = Message()
    message["Content-Type"] = content_type
    boundary = (message.get_boundary() or "").removesuffix("'").removeprefix("'")  # gcloud quotes it like that
    if not boundary:
        raise invalid("Malformed multipart body: its Content-Type names no boundary.")
    return boundary.encode()


def _part(section: bytes) -> tuple[str, bytes]:
    end = re.search(rb"\r?\n\r?\n", section)  # the batches of the Python client have bare newlines
    if not end:
        raise invalid("Malformed multipart body: a part has no headers.")
    kind = TYPE.search(section, 0, end.end())
    return kind[1].decode() if kind else "", section[end.end() :]


@dataclass(slots=True)
class Session:
    """A resumable upload: what was promised at its beginning, and what has come so far."""

    bucket: str
    name: str
    attributes: dict[str, Any]
    conditions: Conditions
    claimed: Checksums
    announced: int | None = None
    data: bytearray = field(default_factory=bytearray)
    result: StoredObject | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, content_range: str | None, body: bytes) -> bool:
        """Take what came, and say whether it is now complete."""
        if content_range is None:
            self.data[:] = body
            return self._complete(len(body))
        brought = Brought.of(content_range, len(body))
        if brought.start is not None:
            self._append(brought, body)
        return brought.total is not None and self._complete(brought.total)

    def _append(self, brought: Brought, body: bytes) -> None:
        start = brought.start or 0
        if start > len(self.data):
            raise StorageError(503, f"Bytes from {start} came, but only {len(self.data)} are here: resume there.")
        last = brought.total is not None and start + len(body) == brought.total
        end = start + len(body) if last else (start + len(body)) // QUANTUM * QUANTUM
        self.data += body[len(self.data) - start : max(0, end - start)]

    def _complete(self, total: int) -> bool:
        if self.announced is not None and total != self.announced:
            raise invalid(f"The upload was announced with {self.announced} bytes, not {total}.")
        return len(self.data) == total


class Sessions:
    """The uploads under way, by the id in their address."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def begin(self, session: Session) -> str:
        identity = uuid.uuid4().hex
        with self._lock:
            self._sessions[identity] = session
        return identity

    def find(self, identity: str) -> Session:
        with self._lock:
            if identity not in self._sessions:
                raise StorageError(404, "No such upload: it was cancelled, or never begun.")
            return self._sessions[identity]

    def cancel(self, identity: str) -> None:
        self.find(identity)
        with self._lock:
            self._sessions.pop(identity, None)

    def clear(self) -> None:
        with self._lock:
            self._sessions.clear()
