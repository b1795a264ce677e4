"""Runs, other documents and objects in memory, with the semantics that the kernel's safety rests on."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flowcore.domain.errors import Code, ConfigurationError, DataNotFoundError, ValidationError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch, apply
from flowcore.ports import DOCUMENT_CALL, OBJECT_CALL, Conflict, Document, ObjectExists, StoredObject
from flowcore.testing.faults import Wire

_FIRST_UPDATE = datetime(2025, 12, 24, tzinfo=UTC)
LONGEST_NAME = 1500  # bytes
_NEVER = datetime.max.replace(tzinfo=UTC)
_AN_ADDRESS = re.compile(r"gs://[^/]+/.")


@dataclass(frozen=True, slots=True)
class Change:
    """What an event tells: the document before and after one write; None where it did not exist."""

    old: Snapshot | None
    new: Snapshot | None


@dataclass(slots=True)
class MemoryRuns:
    """Documents with strictly increasing update times. An update without a precondition is refused."""

    wire: Wire = field(default_factory=Wire)
    changes: list[Change] = field(default_factory=list)
    _documents: dict[str, Snapshot] = field(default_factory=dict)
    _writes: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, run_id: str, document: Mapping[str, object]) -> Snapshot:
        """What a user or an operator does from outside: uncounted and unconditional."""
        return self._store(run_id, storable(document))

    def delete(self, run_id: str) -> None:
        with self._lock:
            self.changes.append(Change(self._documents.pop(run_id), None))

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        return self.wire.carry("get", lambda: self._documents.get(run_id))

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        if not isinstance(update_time, datetime):
            raise AssertionError(f"an update of {run_id} without a precondition: {dict(patch.changes)}")
        return self.wire.carry("update", lambda: self._update(run_id, patch, update_time))

    def due(self, now: datetime) -> Iterator[Snapshot]:
        """The longest overdue first, and after them those that no function has seen yet."""
        return self._query(
            lambda document: document.get("status") == "PENDING" or _come(document, now) is not None,
            lambda snapshot: (_come(snapshot.document, now) or _NEVER, snapshot.run_id),
        )

    def unfinished(self) -> Iterator[Snapshot]:
        """Not those that have no status at all: Firestore cannot ask for what is missing."""
        finished = (None, "SUCCEEDED", "FAILED", "CANCELLED")
        return self._query(lambda document: document.get("status") not in finished, lambda snapshot: snapshot.run_id)

    def _query(
        self, wanted: Callable[[Mapping[str, object]], bool], order: Callable[[Snapshot], Any]
    ) -> Iterator[Snapshot]:
        found = self.wire.carry("query", lambda: [s for s in self._documents.values() if wanted(s.document)])
        return iter(sorted(found, key=order))

    def _update(self, run_id: str, patch: Patch, update_time: datetime) -> datetime:
        with self._lock:
            current = self._documents.get(run_id)
            if current is None or current.update_time != update_time:
                raise Conflict(run_id)
            return self._store(run_id, storable(apply(current.document, patch))).update_time

    def _store(self, run_id: str, document: dict[str, object]) -> Snapshot:
        with self._lock:
            old = self._documents.get(run_id)
            if old is not None and old.document == document:
                return old  # a write that changes nothing keeps its update time and makes no event
            self._writes += 1
            new = Snapshot(run_id, document, _FIRST_UPDATE + timedelta(microseconds=self._writes))
            self._documents[run_id] = new
            self.changes.append(Change(old, new))
            return new


@dataclass(slots=True)
class MemoryDocuments:
    """Documents of any collection, by path."""

    wire: Wire = field(default_factory=Wire)
    _documents: dict[str, Document] = field(default_factory=dict)
    _writes: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, path: str, fields: Mapping[str, object]) -> Document:
        """What an operator does from outside: uncounted and unconditional."""
        with self._lock:
            old, stored = self._documents.get(path), storable(fields)
            if old is not None and old.fields == stored:
                return old
            self._writes += 1
            new = Document(stored, _FIRST_UPDATE + timedelta(microseconds=self._writes))
            self._documents[path] = new
            return new

    def find(self, path: str, timeout: float = DOCUMENT_CALL) -> Document | None:
        return self.wire.carry("find", lambda: self._documents.get(path))

    def create(self, path: str, fields: Mapping[str, object], timeout: float = DOCUMENT_CALL) -> None:
        self.wire.carry("create", lambda: self._write(path, None, Patch(fields)))

    def update(
        self, path: str, fields: Mapping[str, object], update_time: datetime, timeout: float = DOCUMENT_CALL
    ) -> None:
        self.wire.carry("update", lambda: self._write(path, update_time, Patch(fields)))

    def _write(self, path: str, update_time: datetime | None, patch: Patch) -> None:
        with self._lock:
            there = self._documents.get(path)
            if (there.update_time if there else None) != update_time:
                raise Conflict(path)
            self.put(path, apply(there.fields, patch) if there else dict(patch.changes))


@dataclass(slots=True)
class MemoryArtifacts:
    """Objects that can be created once and never overwritten."""

    bucket: str = "artifacts"
    wire: Wire = field(default_factory=Wire)
    objects: dict[str, tuple[StoredObject, bytes]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def uri(self, name: str) -> str:
        return f"gs://{self.bucket}/{name}"

    def find(self, name: str, timeout: float = OBJECT_CALL) -> StoredObject | None:
        return self.wire.carry("find", lambda: self.objects[name][0] if name in self.objects else None)

    def create(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        content_type: str,
        metadata: Mapping[str, str],
        timeout: float = OBJECT_CALL,
    ) -> StoredObject:
        return self.wire.carry("create", lambda: self._create(name, content, content_type, metadata))

    def annotate(self, name: str, metadata: Mapping[str, str], timeout: float = OBJECT_CALL) -> StoredObject:
        return self.wire.carry("annotate", lambda: self._annotate(name, metadata))

    def read(self, uri: str, timeout: float = OBJECT_CALL) -> bytes:
        return self.wire.carry("read", lambda: self._read(uri))

    def _create(
        self, name: str, content: bytes | Iterable[bytes], content_type: str, metadata: Mapping[str, str]
    ) -> StoredObject:
        if not content_type:
            raise AssertionError(f"an object without a content type: {name}")
        with self._lock:
            if name in self.objects:
                raise ObjectExists(name)
            stored = StoredObject(name, self.uri(name), dict(metadata))
            self.objects[name] = (stored, content if isinstance(content, bytes) else b"".join(content))
            return stored

    def _annotate(self, name: str, metadata: Mapping[str, str]) -> StoredObject:
        with self._lock:
            if name not in self.objects:
                raise ConfigurationError(Code.GCS_WRITE_FAILED, f"{self.uri(name)} does not exist")
            found, content = self.objects[name]
            stored = replace(found, metadata={**found.metadata, **metadata})
            self.objects[name] = (stored, content)
            return stored

    def _read(self, uri: str) -> bytes:
        name = uri.removeprefix(f"gs://{self.bucket}/")
        if _AN_ADDRESS.match(uri) and name == uri:
            raise ValidationError(
                Code.INVALID_STEP_INPUTS,
                f"{uri} is in no bucket that may be read",
                details={"reason": "bucket_not_allowed"},
            )
        if name not in self.objects:
            raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri} does not exist")
        return self.objects[name][1]


def storable(value: Mapping[str, object]) -> dict[str, object]:
    """A deep copy, as a store makes one; refuses what Firestore's client would refuse."""
    return {_key(key): _storable(item) for key, item in value.items()}


def _storable(value: object) -> object:
    if value is None or type(value) in (bool, float, bytes, datetime):
        return value
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if type(value) is str:
        value.encode("utf-8")  # lone surrogates cannot travel
        return value
    if isinstance(value, dict):
        return storable(value)
    if isinstance(value, list) and not any(isinstance(item, list) for item in value):
        return [_storable(item) for item in value]
    raise TypeError(f"Firestore cannot store this {type(value).__name__}")


def _key(key: object) -> str:
    if not isinstance(key, str) or not key or (key.startswith("__") and key.endswith("__")):
        raise TypeError(f"Firestore cannot store a field named {key!r}")
    if len(key.encode("utf-8")) > LONGEST_NAME:
        raise TypeError(f"Firestore cannot store a field with a name of {len(key)} characters")
    return key


def _come(document: Mapping[str, object], now: datetime) -> datetime | None:
    """The moment at which the run wanted to be woken, if it has come."""
    wake_at = document.get("wakeAt")
    return wake_at if isinstance(wake_at, datetime) and wake_at <= now else None
