"""What the engine needs from the world, as protocols. No code.

An implementation turns its SDK's exceptions into those named here: `Conflict` and `ObjectExists` are answers, a
`NetworkError` means that nobody knows whether the call took effect, and anything else is a refusal that no retry
will change. `timeout` is all the time there is, in seconds: an implementation may give up sooner, never later. Trying
again is its caller's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch

# Seconds. Far more than a healthy call takes, and far less than an invocation has.
DOCUMENT_CALL = 10.0
OBJECT_CALL = 60.0


class Conflict(Exception):
    """The document is no longer the one that the write was decided on."""


class DocumentFull(Exception):
    """The write would make the document larger than Firestore lets one be."""


class ObjectExists(Exception):
    """A create-only write found an object of that name."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    name: str
    uri: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    fields: Mapping[str, object]
    update_time: datetime


class Runs(Protocol):
    """The run documents."""

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None: ...

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        """Write the patch if the document is still the one of `update_time`; returns its new update time."""

    def due(self, now: datetime) -> Iterator[Snapshot]:
        """Runs whose `wakeAt` has come, and PENDING ones: no function may have seen those yet."""

    def unfinished(self) -> Iterator[Snapshot]:
        """Every run whose status is not one of a finished run, odd ones included. One without a status is not found."""


class Documents(Protocol):
    """Every other document, by path: what operators keep for the steps, and what workers count."""

    def find(self, path: str, timeout: float = DOCUMENT_CALL) -> Document | None: ...

    def create(self, path: str, fields: Mapping[str, object], timeout: float = DOCUMENT_CALL) -> None:
        """`Conflict` when there is one already."""

    def update(
        self, path: str, fields: Mapping[str, object], update_time: datetime, timeout: float = DOCUMENT_CALL
    ) -> None:
        """Set these fields (DELETE removes one) if the document is still the one of `update_time`; else `Conflict`."""


class Artifacts(Protocol):
    """The objects that steps leave behind. There is no way to overwrite one."""

    def uri(self, name: str) -> str:
        """Where an object of that name lies or would lie; no call is made."""

    def find(self, name: str, timeout: float = OBJECT_CALL) -> StoredObject | None: ...

    def create(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        content_type: str,
        metadata: Mapping[str, str],
        timeout: float = OBJECT_CALL,
    ) -> StoredObject:
        """All of it or nothing. Content in pieces is taken as it comes, and never held as a whole."""

    def annotate(self, name: str, metadata: Mapping[str, str], timeout: float = OBJECT_CALL) -> StoredObject:
        """Add to what an object says of itself."""

    def read(self, uri: str, timeout: float = OBJECT_CALL) -> bytes:
        """Whoever made it. From a bucket that is not meant to be read it is a `ValidationError`, and no call."""


class Clock(Protocol):
    def now(self) -> datetime: ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps, for deadlines."""

    def sleep(self, seconds: float) -> None: ...


class Chance(Protocol):
    def token(self) -> str:
        """Unlike any other token, ever."""

    def luck(self) -> float:
        """From 0 up to, but not including, 1."""


class Log(Protocol):
    def info(self, event: str, **fields: object) -> None: ...

    def warning(self, event: str, **fields: object) -> None: ...

    def error(self, event: str, **fields: object) -> None: ...

    def bind(self, **fields: object) -> Log:
        """The same log, with these fields on every line."""
