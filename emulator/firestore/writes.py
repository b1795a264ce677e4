"""One write: what was there, what is asked, what is there afterwards. Pure; nothing is stored here.

A write is refused before it touches anything (its precondition, its limits), then the fields in its mask are
replaced, then its transforms are computed on the result. When all of that changes nothing, the document keeps its
update time, because for everybody who watches it nothing has happened.
"""

import math
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from emulator.firestore import limits, paths, values
from emulator.firestore.errors import Code, Refused, invalid
from emulator.firestore.wire import ArrayValue, Document, DocumentTransform, Precondition, Value, Write, WriteResult

FieldTransform = DocumentTransform.FieldTransform

LARGEST: Final = 2**63 - 1
SMALLEST: Final = -(2**63)


def target(write: Write) -> str:
    """The name of the document that a write is about."""
    match write.WhichOneof("operation"):
        case "update":
            return write.update.name
        case "delete":
            return write.delete
        case "transform":
            return write.transform.document
        case _:
            raise invalid("A write must have an operation: update, delete or transform.")


def apply(write: Write, before: Document | None, time: int) -> tuple[Document | None, WriteResult]:
    """The document after the write, none when it is deleted, and the reply; `time` in microseconds."""
    name = target(write)
    paths.check_document(name)
    check_precondition(write.current_document, name, before)
    if write.WhichOneof("operation") == "delete":
        return None, WriteResult()

    after = _replaced(write, before, name)
    transforms = write.update_transforms or write.transform.field_transforms
    results = [_transform(after, transform, time) for transform in transforms]
    values.truncate_times(after.fields)
    limits.check(after)

    if before is not None and values.same_fields(before, after):
        return before, WriteResult(update_time=before.update_time, transform_results=results)
    now = values.timestamp(time)
    after.create_time.CopyFrom(before.create_time if before else now)
    after.update_time.CopyFrom(now)
    return after, WriteResult(update_time=now, transform_results=results)


def check_precondition(precondition: Precondition, name: str, document: Document | None) -> None:
    """Refuse unless the stored document is as the writer believes."""
    match precondition.WhichOneof("condition_type"):
        case "exists" if precondition.exists and document is None:
            raise Refused(Code.NOT_FOUND, f"No document to update: {name}")
        case "exists" if not precondition.exists and document is not None:
            raise Refused(Code.ALREADY_EXISTS, f"Document already exists: {name}")
        case "update_time":
            _check_version(values.microseconds(precondition.update_time), document)


def _check_version(required: int, document: Document | None) -> None:
    stored = values.microseconds(document.update_time) if document else 0
    if document is not None and required > stored:  # nobody can have read a version that was never there
        raise invalid(f"Invalid base version, it is greater than the stored version: {document.name}")
    if stored != required:
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"the stored version ({stored}) does not match the required base version ({required})",
        )


def _replaced(write: Write, before: Document | None, name: str) -> Document:
    after = Document(name=name)
    if write.WhichOneof("operation") == "update" and not write.HasField("update_mask"):
        after.MergeFrom(Document(fields=write.update.fields))
        return after
    if before is not None:
        after.CopyFrom(before)
        after.ClearField("update_time")
    for text in write.update_mask.field_paths:
        path = _writable(text)
        value = values.inside(write.update.fields, path)
        if value is None:
            values.remove(after, path)
        else:
            values.put(after, path, value)
    return after


def _writable(text: str) -> paths.FieldPath:
    path = paths.parse_field(text)
    for segment in path:
        paths.check_field_name(segment)
    return path


# --- transforms ----------------------------------------------------------------------------------------------


def _transform(document: Document, transform: FieldTransform, time: int) -> Value:
    path = _writable(transform.field_path)
    current = values.inside(document.fields, path)
    new, result = _computed(transform, current, time)
    values.put(document, path, new)
    return result


def _computed(transform: FieldTransform, current: Value | None, time: int) -> tuple[Value, Value]:
    """The field's new value, and what the writer is told about it."""
    match transform.WhichOneof("transform_type"):
        case "set_to_server_value":
            now = Value(timestamp_value=_milliseconds(time))
            return now, now
        case "increment":
            new = _added(current, _numeric(transform.increment))
            return new, new
        case "maximum":
            new = _extreme(current, _numeric(transform.maximum), largest=True)
            return new, new
        case "minimum":
            new = _extreme(current, _numeric(transform.minimum), largest=False)
            return new, new
        case "append_missing_elements":
            return _united(current, transform.append_missing_elements), values.NULL
        case "remove_all_from_array":
            return _without(current, transform.remove_all_from_array), values.NULL
        case _:
            raise invalid(f"The transform of {transform.field_path} names no operation.")


def _milliseconds(time: int) -> Timestamp:
    return values.timestamp(time - time % 1000)  # the request time has milliseconds, unlike the update time


def _numeric(operand: Value) -> Value:
    if not values.is_number(operand):
        raise invalid("Input must be int64 or double.")
    return operand


def _added(current: Value | None, operand: Value) -> Value:
    if current is None or not values.is_number(current):
        return operand
    total = values.number(current) + values.number(operand)
    if isinstance(total, int):
        return Value(integer_value=max(SMALLEST, min(LARGEST, total)))
    return Value(double_value=total)


def _extreme(current: Value | None, operand: Value, *, largest: bool) -> Value:
    if current is None or not values.is_number(current):
        return operand
    held, given = values.number(current), values.number(operand)
    if math.isnan(held) or math.isnan(given):
        return values.NAN
    if held == given:  # 3 and 3.0 are equal: the field stays as it is
        return current
    return operand if (given > held) == largest else current


def _elements(current: Value | None) -> list[Value]:
    if current is None or values.type_of(current) != "array_value":
        return []
    return list(current.array_value.values)


def _united(current: Value | None, added: ArrayValue) -> Value:
    elements = _elements(current)
    known = {values.key(element) for element in elements}
    for element in added.values:
        if values.key(element) not in known:
            known.add(values.key(element))
            elements.append(element)
    return Value(array_value=ArrayValue(values=elements))


def _without(current: Value | None, removed: ArrayValue) -> Value:
    gone = {values.key(element) for element in removed.values}
    return Value(
        array_value=ArrayValue(values=[element for element in _elements(current) if values.key(element) not in gone])
    )
