"""Writes `emulator/firestore/wire.pyi` from the descriptors: python -m tests.emulator.firestore.stub > …/wire.pyi."""

import sys
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from emulator.firestore import wire

HEADER = '''"""What `wire.py` holds. Made by `python -m tests.emulator.firestore.stub`; not for editing."""

# ruff: noqa: A002 - fields are named by Google

from collections.abc import Iterable, Mapping

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.wrappers_pb2 import DoubleValue, Int32Value, Int64Value
'''
OURS = ("google.firestore.v1.", "google.rpc.", "google.type.")
THEIRS = {"Duration", "Timestamp", "DoubleValue", "Int32Value", "Int64Value"}
SCALARS = {
    FieldDescriptor.CPPTYPE_STRING: "str",
    FieldDescriptor.CPPTYPE_BOOL: "bool",
    FieldDescriptor.CPPTYPE_DOUBLE: "float",
    FieldDescriptor.CPPTYPE_FLOAT: "float",
}


def stub() -> str:
    """The whole file."""
    classes = [line for name, message in _messages().items() for line in ["", *_class(name, message, "")]]
    return HEADER + "\n".join(classes) + "\n"


def _messages() -> dict[str, Descriptor]:
    return {name: cls.DESCRIPTOR for name, cls in vars(wire).items() if hasattr(cls, "DESCRIPTOR")}


def _class(name: str, message: Descriptor, indent: str) -> Iterator[str]:
    inner = indent + "    "
    fields = list(message.fields)
    yield f"{indent}class {name}(Message):"
    for enum in message.enum_types:
        yield from (f"{inner}{value.name}: int" for value in enum.values)
    for nested in message.nested_types:
        if not nested.GetOptions().map_entry:
            yield from _class(nested.name, nested, inner)
    for field in fields:
        yield f"{inner}{field.name}: {_held(field)}"
    taken = "".join(f", {field.name}: {_given(field)} = ..." for field in fields)
    yield f"{inner}def __init__(self{', *' if fields else ''}{taken}) -> None: ..."


def _held(field: FieldDescriptor) -> str:
    if entry := _entry(field):
        kind = "MessageMap" if entry.fields_by_name["value"].message_type else "ScalarMap"
        return f"{kind}[{_pair(entry)}]"
    if field.is_repeated:
        kind = "RepeatedCompositeFieldContainer" if field.message_type else "RepeatedScalarFieldContainer"
        return f"{kind}[{_item(field)}]"
    return _item(field)


def _given(field: FieldDescriptor) -> str:
    if entry := _entry(field):
        return f"Mapping[{_pair(entry)}]"
    return f"Iterable[{_item(field)}]" if field.is_repeated else f"{_item(field)} | None"


def _entry(field: FieldDescriptor) -> Descriptor | None:
    message = field.message_type
    return message if message and message.GetOptions().map_entry else None


def _pair(entry: Descriptor) -> str:
    return f"{_item(entry.fields_by_name['key'])}, {_item(entry.fields_by_name['value'])}"


def _item(field: FieldDescriptor) -> str:
    if field.message_type:
        return _named(field.message_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "bytes"
    return SCALARS.get(field.cpp_type, "int")


def _named(message: Descriptor) -> str:
    for package in OURS:
        path = message.full_name.removeprefix(package)
        if path.split(".")[0] in _messages():
            return path
    if message.full_name == "google.protobuf.Any":
        return "AnyMessage"
    return message.name if message.name in THEIRS else "Message"


if __name__ == "__main__":
    sys.stdout.write(stub())
