"""What a function is sent: one change of one document, as a CloudEvent in binary mode.

The attributes are HTTP headers and the body is a raw protobuf `DocumentEventData`. An event's id follows from the
change alone, so the same change is recognised again, by the function and after a restart.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from google.events.cloud.firestore import DocumentEventData

from emulator.eventarc.triggers import Kind, Subscription, kind_of
from emulator.firestore import paths
from emulator.firestore.changes import Change

TYPES: Final = "google.cloud.firestore.document.v1."
PROTOBUF: Final = "application/protobuf"
MOST_BYTES: Final = 512 * 1024  # an event may have no more, though a document may
_SCHEMA: Final = (
    "https://github.com/googleapis/google-cloudevents/blob/main/proto/google/events/cloud/firestore/v1/data.proto"
)
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F))).replace('"', "").replace("%", "")
_IDS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "eventarc.googleapis.com")
_Data: Final[Any] = DocumentEventData.pb()


@dataclass(frozen=True, slots=True)
class Event:
    """One event for one function."""

    function: str
    sequence: int  # of the change in the feed
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["ce-id"]

    @property
    def key(self) -> str:
        return f"{self.function} {self.id}"

    @property
    def document(self) -> str:
        return self.headers["ce-document"]

    @property
    def time(self) -> float:
        """Of the change, in seconds since the epoch."""
        return dt.datetime.fromisoformat(self.headers["ce-time"]).timestamp()

    @property
    def kind(self) -> str:
        return self.headers["ce-type"].removeprefix(TYPES)

    def __str__(self) -> str:
        return f"{self.kind} {self.document} → {self.function}"

    @property
    def too_large(self) -> bool:
        return len(self.body) > MOST_BYTES


def event_of(change: Change, subscription: Subscription, location: str) -> Event:
    """The event that tells a function of a change."""
    _, project, _, database, *_ = change.name.split("/")
    document = paths.relative(change.name)
    kind = Kind.WRITTEN if subscription.kind is Kind.WRITTEN else kind_of(change)
    attributes = {
        "id": str(uuid.uuid5(_IDS, f"{change.name} {change.time} {kind}")),
        "source": f"//firestore.googleapis.com/projects/{project}/databases/{database}",
        "specversion": "1.0",
        "type": TYPES + kind,
        "subject": f"documents/{document}",
        "time": _spelled_time(change.time),
        "datacontenttype": PROTOBUF,
        "dataschema": _SCHEMA,
        "project": project,
        "database": database,
        "namespace": "(default)",
        "location": location,
        "document": document,
    }
    # A header holds printable ASCII only; the CloudEvents binding says how the rest travels.
    headers = {f"ce-{name}": quote(value, safe=_PRINTABLE) for name, value in attributes.items()}
    return Event(subscription.function, change.sequence, {**headers, "content-type": PROTOBUF}, _body(change))


def _body(change: Change) -> bytes:
    """Firestore's documents and those of its events are two types with one encoding."""
    data = _Data()
    if change.after is not None:
        data.value.MergeFromString(change.after.SerializeToString())
    if change.before is not None:
        data.old_value.MergeFromString(change.before.SerializeToString())
    if mask := change.mask:
        data.update_mask.field_paths.extend(mask)
    body: bytes = data.SerializeToString()
    return body


def _spelled_time(microseconds: int) -> str:
    moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
