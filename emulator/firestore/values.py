"""Firestore's values: how they compare across types, when they are the same, where they are within a document.

Every two values have an order, whatever their types: null < booleans < numbers < timestamps < strings < bytes <
references < points < arrays < vectors < maps. Integers and doubles are one number line, with NaN at its start. The
order is expressed as a key, a tuple that Python compares natively, so that sorting stays in C.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp

from emulator.firestore import paths
from emulator.firestore.paths import FieldPath
from emulator.firestore.wire import Document, MapValue, Value

Key = tuple[Any, ...]
Fields = Mapping[str, Value]

NULL: Final = Value(null_value=0)
NAN: Final = Value(double_value=math.nan)


def type_of(value: Value) -> str | None:
    """Which of its fields a value uses: `integer_value`, `map_value`, …; none when it is unset."""
    chosen: str | None = value.WhichOneof("value_type")
    return chosen


# --- order and equality --------------------------------------------------------------------------------------


def key(value: Value) -> Key:
    """Comparable with the key of every other value; equal keys are equal values to a query."""
    return _KEYS[type_of(value) or "null_value"](value)


def kind(value: Value) -> int:
    """Two values of one kind can be compared by a range filter, others cannot."""
    rank: int = key(value)[0]
    return rank


def is_nan(value: Value) -> bool:
    return type_of(value) == "double_value" and math.isnan(value.double_value)


def is_number(value: Value) -> bool:
    return type_of(value) in {"integer_value", "double_value"}


def number(value: Value) -> int | float:
    return value.integer_value if type_of(value) == "integer_value" else value.double_value


def same_fields(a: Document, b: Document) -> bool:
    """Identical contents: unlike in a query 1 and 1.0 differ here, and NaN is itself."""
    return a.fields.keys() == b.fields.keys() and all(identical(a.fields[name], b.fields[name]) for name in a.fields)


def identical(a: Value, b: Value) -> bool:
    return a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)


def _number_key(value: int | float) -> Key:
    return (2, 0, 0) if math.isnan(value) else (2, 1, value)


def _map_key(value: MapValue) -> Key:
    if is_vector(value):
        numbers = value.fields["value"].array_value.values
        return (9, len(numbers), tuple(key(number) for number in numbers))
    return (10, tuple((name, key(value.fields[name])) for name in sorted(value.fields)))


def is_vector(value: MapValue) -> bool:
    return "__type__" in value.fields and value.fields["__type__"].string_value == "__vector__"


_KEYS: Final[dict[str, Callable[[Value], Key]]] = {
    "null_value": lambda _: (0,),
    "boolean_value": lambda value: (1, value.boolean_value),
    "integer_value": lambda value: _number_key(value.integer_value),
    "double_value": lambda value: _number_key(value.double_value),
    "timestamp_value": lambda value: (3, value.timestamp_value.seconds, value.timestamp_value.nanos),
    "string_value": lambda value: (4, value.string_value),
    "bytes_value": lambda value: (5, value.bytes_value),
    "reference_value": lambda value: (6, paths.sort_key(value.reference_value)),
    "geo_point_value": lambda value: (7, value.geo_point_value.latitude, value.geo_point_value.longitude),
    "array_value": lambda value: (8, tuple(key(element) for element in value.array_value.values)),
    "map_value": lambda value: _map_key(value.map_value),
}


# --- fields within documents ---------------------------------------------------------------------------------


def field(document: Document, path: FieldPath) -> Value | None:
    """The value at a path, or nothing; the name counts as a field."""
    if path == paths.NAME:
        return Value(reference_value=document.name)
    return inside(document.fields, path)


def inside(fields: Fields, path: FieldPath) -> Value | None:
    for segment in path[:-1]:
        if segment not in fields or type_of(fields[segment]) != "map_value":
            return None
        fields = fields[segment].map_value.fields
    return fields.get(path[-1])


def put(document: Document, path: FieldPath, value: Value) -> None:
    """Set the value at a path; whatever is in the way and is no map gives way to one."""
    fields = document.fields
    for segment in path[:-1]:
        fields[segment].map_value.SetInParent()
        fields = fields[segment].map_value.fields
    fields[path[-1]].CopyFrom(value)


def remove(document: Document, path: FieldPath) -> None:
    """Remove the field at a path, if it is there."""
    if inside(document.fields, path) is None:
        return
    fields = document.fields
    for segment in path[:-1]:
        fields = fields[segment].map_value.fields
    del fields[path[-1]]


def project(document: Document, field_paths: Iterable[FieldPath]) -> Document:
    """The document with these fields only."""
    shown = Document(name=document.name, create_time=document.create_time, update_time=document.update_time)
    for path in field_paths:
        value = None if path == paths.NAME else inside(document.fields, path)
        if value is not None:
            put(shown, path, value)
    return shown


# --- time ----------------------------------------------------------------------------------------------------


def timestamp(microseconds: int) -> Timestamp:
    seconds, rest = divmod(microseconds, 1_000_000)
    return Timestamp(seconds=seconds, nanos=rest * 1000)


def microseconds(time: Timestamp) -> int:
    return time.seconds * 1_000_000 + time.nanos // 1000


def truncate_times(fields: Fields) -> None:
    """Firestore keeps microseconds; what is finer is cut off before it is stored."""
    for value in fields.values():
        _truncate(value)


def _truncate(value: Value) -> None:
    match type_of(value):
        case "timestamp_value":
            value.timestamp_value.nanos -= value.timestamp_value.nanos % 1000
        case "array_value":
            for element in value.array_value.values:
                _truncate(element)
        case "map_value":
            truncate_times(value.map_value.fields)
