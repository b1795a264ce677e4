"""What a document may hold, and how much of it."""

from typing import Final

from emulator.firestore import paths, values
from emulator.firestore.errors import invalid
from emulator.firestore.wire import Document, Value

MAX_DOCUMENT_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 20


def check(document: Document) -> None:
    """Refuse what Firestore does not store."""
    for name, value in document.fields.items():
        paths.check_field_name(name)
        _check(name, value, depth=1)
    size = document_size(document)
    if size > MAX_DOCUMENT_BYTES:
        raise invalid(
            f"Document '{document.name}' cannot be written because its size ({size:,} bytes) exceeds the maximum "
            f"allowed size of {MAX_DOCUMENT_BYTES:,} bytes."
        )


def document_size(document: Document) -> int:
    """What a document is charged for: its name, its fields and 32 bytes."""
    return _name_size(document.name) + _fields_size(document.fields) + 32


def _check(name: str, value: Value, depth: int) -> None:
    match values.type_of(value):
        case None:
            raise invalid("Cannot convert firestore.v1.Value with type unset.")
        case "map_value":
            if depth > MAX_DEPTH:
                raise invalid(f"Property {name} contains an invalid nested entity.")
            vector = values.is_vector(value.map_value)
            for inner, held in value.map_value.fields.items():
                if not vector:
                    paths.check_field_name(inner)
                _check(name, held, depth + 1)
        case "array_value":
            if depth > MAX_DEPTH:
                raise invalid(f"Property {name} contains an invalid nested entity.")
            for element in value.array_value.values:
                if values.type_of(element) == "array_value":
                    raise invalid("Cannot convert an array value in an array value.")
                _check(name, element, depth + 1)


def _name_size(name: str) -> int:
    return sum(_string_size(segment) for segment in paths.relative(name).split("/")) + 16


def _string_size(text: str) -> int:
    return len(text.encode()) + 1


def _fields_size(fields: values.Fields) -> int:
    return sum(_string_size(name) + _size(value) for name, value in fields.items())


def _size(value: Value) -> int:
    match values.type_of(value):
        case "string_value":
            return _string_size(value.string_value)
        case "bytes_value":
            return len(value.bytes_value)
        case "reference_value":
            return _name_size(value.reference_value)
        case "array_value":
            return sum(_size(element) for element in value.array_value.values)
        case "map_value":
            return _fields_size(value.map_value.fields)
        case "geo_point_value":
            return 16
        case "null_value" | "boolean_value":
            return 1
        case _:
            return 8
