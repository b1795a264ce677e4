"""A document in plain JSON, for people and auditors. One way only: what JSON cannot say is said as text."""

import base64
from typing import Any

from emulator.firestore import paths, values
from emulator.firestore.wire import Document, Value


def document(message: Document | None) -> dict[str, Any] | None:
    """The fields of a document; none when there is none."""
    return None if message is None else _fields(message.fields)


def _fields(fields: values.Fields) -> dict[str, Any]:
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Value) -> Any:
    match values.type_of(value):
        case "map_value":
            return _fields(value.map_value.fields)
        case "array_value":
            return [_plain(element) for element in value.array_value.values]
        case "timestamp_value":
            return value.timestamp_value.ToJsonString()
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "reference_value":
            return paths.relative(value.reference_value)
        case "geo_point_value":
            return [value.geo_point_value.latitude, value.geo_point_value.longitude]
        case "null_value" | None:
            return None
        case "double_value" if values.is_nan(value) or abs(value.double_value) == float("inf"):
            return str(value.double_value)
        case kind:
            return getattr(value, kind)
