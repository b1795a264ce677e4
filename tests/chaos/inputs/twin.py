"""Firestore in memory, as strict as the real one about what it takes, and with everything that it can hold.

The twins of flowcore.testing hold what flowcore writes. Strangers write references and places on the globe, too, and
sixteen levels of maps; so this one keeps each document in the form in which it travels and checks it as the platform's
own Firestore does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud.firestore import DocumentReference, GeoPoint
from google.events.cloud.firestore import DocumentEventData

from emulator.firestore import limits, wire
from emulator.firestore.changes import Change
from emulator.firestore.errors import Refused
from flowcore.adapters.firestore_events import decode
from flowcore.domain.errors import Code, NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch, apply
from flowcore.ports import DOCUMENT_CALL, Conflict, Document, DocumentFull

COLLECTION = "flow_runs"
DOCUMENTS = "projects/demo-local/databases/(default)/documents"
_FIRST = datetime(2025, 12, 24, tzinfo=UTC)
_FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")
_Event: Any = DocumentEventData.pb()


@dataclass(frozen=True, slots=True)
class Kept:
    snapshot: Snapshot
    message: Any


@dataclass(slots=True)
class TwinRuns:
    """Writes on a condition; a write that changes nothing makes no event; what Firestore refuses raises."""

    changes: list[Change] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)
    stones: set[str] = field(default_factory=set)  # runs that nobody can write to any more
    asked_for: set[str] = field(default_factory=set)  # runs that somebody wanted to write to, whatever came of it

    def put(self, run_id: str, document: Mapping[str, object]) -> None:
        """What a stranger does from outside. Refused with an exception if Firestore would not take it."""
        self._store(run_id, document)

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        found = self.kept.get(run_id)
        return found.snapshot if found else None

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        self.asked_for.add(run_id)
        found = self.kept.get(run_id)
        if found is None or found.snapshot.update_time != update_time:
            raise Conflict(run_id)
        if run_id in self.stones:
            raise NetworkError(Code.FIRESTORE_UNAVAILABLE, f"{run_id}: no reply")
        try:
            return self._store(run_id, apply(found.snapshot.document, patch))
        except Refused as refused:
            if "maximum" in str(refused):
                raise DocumentFull(run_id) from refused
            raise

    def due(self, now: datetime) -> Iterator[Snapshot]:
        return iter([found for found in self._all() if _is_due(found.document, now)])

    def unfinished(self) -> Iterator[Snapshot]:
        return iter([found for found in self._all() if found.document.get("status", "FAILED") not in _FINISHED])

    def _all(self) -> list[Snapshot]:
        return [kept.snapshot for kept in self.kept.values()]

    def _store(self, run_id: str, document: Mapping[str, object]) -> datetime:
        old = self.kept.get(run_id)
        message = encoded(f"{DOCUMENTS}/{COLLECTION}/{run_id}", document)
        limits.check(message)
        if old and old.message.fields == message.fields:
            return old.snapshot.update_time
        sequence = len(self.changes) + 1
        moment = _FIRST + timedelta(microseconds=sequence)
        message.update_time.FromDatetime(moment)
        self.kept[run_id] = Kept(Snapshot(run_id, document, moment), message)
        self.changes.append(Change(sequence, sequence, message.name, old.message if old else None, message))
        return moment


@dataclass(slots=True)
class Shelf:
    """Documents that operators keep; a stranger may have filled them. Steps of these batteries write none."""

    fields: dict[str, Mapping[str, object]] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    def find(self, path: str, timeout: float = DOCUMENT_CALL) -> Document | None:
        return Document(self.fields[path], _FIRST) if path in self.fields else None

    def create(self, path: str, fields: Mapping[str, object], timeout: float = DOCUMENT_CALL) -> None:
        if path in self.fields:
            raise Conflict(path)
        limits.check(encoded(f"{DOCUMENTS}/{path}", fields))
        self.written.append(path)
        self.fields[path] = fields

    def update(
        self, path: str, fields: Mapping[str, object], update_time: datetime, timeout: float = DOCUMENT_CALL
    ) -> None:
        self.written.append(path)


def travelled(run_id: str, document: Mapping[str, object]) -> Snapshot | None:
    """What flowcore reads in an event of the document; none if it would have to look the document up."""
    data = _Event()
    data.value.MergeFromString(encoded(f"{DOCUMENTS}/{COLLECTION}/{run_id}", document).SerializeToString())
    data.value.update_time.FromDatetime(_FIRST)
    return decode(run_id, data.SerializeToString())


def encoded(name: str, document: Mapping[str, object]) -> Any:
    message: Any = wire.Document(name=name)
    for key, value in document.items():
        _encode(value, message.fields[key])
    return message


def _encode(value: object, into: Any) -> None:  # noqa: PLR0912 - as many as Firestore has types
    match value:
        case None:
            into.null_value = 0
        case bool():
            into.boolean_value = value
        case int():
            into.integer_value = value
        case float():
            into.double_value = value
        case str():
            into.string_value = value
        case bytes():
            into.bytes_value = value
        case datetime():
            into.timestamp_value.FromDatetime(value)
        case GeoPoint():
            into.geo_point_value.latitude, into.geo_point_value.longitude = value.latitude, value.longitude
        case DocumentReference():
            into.reference_value = "/".join((DOCUMENTS, *value._path))
        case Mapping():
            into.map_value.SetInParent()
            for key, item in value.items():
                _encode(item, into.map_value.fields[key])
        case list():
            into.array_value.SetInParent()
            for item in value:
                _encode(item, into.array_value.values.add())
        case _:
            raise TypeError(f"Firestore cannot store this {type(value).__name__}")


def _is_due(document: Mapping[str, object], now: datetime) -> bool:
    wake_at = document.get("wakeAt")
    return document.get("status") == "PENDING" or (isinstance(wake_at, datetime) and wake_at <= now)
