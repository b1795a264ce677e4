"""What a Firestore event brings along, as a snapshot of the run.

The payload is a raw protobuf. It may be missing (a large document has none), so whatever cannot be read is no error:
the document is read instead.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from google.events.cloud.firestore import DocumentEventData
from google.protobuf.message import DecodeError

from flowcore.domain.model import Snapshot

_DATA: Any = DocumentEventData.pb()


def decode(run_id: str, data: object) -> Snapshot | None:
    """The document after the change; None when the event does not tell."""
    if not isinstance(data, bytes) or not data:
        return None
    try:
        told = _DATA.FromString(data)
    except DecodeError:
        return None
    if not told.HasField("value") or not told.value.HasField("update_time"):
        return None
    document = told.value
    if document.name.rpartition("/")[2] != run_id:
        return None
    try:
        return Snapshot(run_id, _plain_map(document.fields), document.update_time.ToDatetime(tzinfo=UTC))
    except (ValueError, RecursionError):
        return None


def _plain_map(fields: Any) -> dict[str, object]:
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> object:
    kind = value.WhichOneof("value_type")
    match kind:
        case "map_value":
            return _plain_map(value.map_value.fields)
        case "array_value":
            return [_plain(item) for item in value.array_value.values]
        case "timestamp_value":
            return value.timestamp_value.ToDatetime(tzinfo=UTC)
        case "null_value" | None:
            return None
        case "geo_point_value":
            return {"latitude": value.geo_point_value.latitude, "longitude": value.geo_point_value.longitude}
        case _:
            return getattr(value, kind)
