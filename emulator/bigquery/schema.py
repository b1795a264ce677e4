"""Fields: their names and types on the wire, in DuckDB, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from duckdb.sqltypes import DuckDBPyType

from emulator.bigquery.errors import invalid, not_emulated

Mode = Literal["NULLABLE", "REQUIRED", "REPEATED"]

ALIASES: Final = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN", "STRUCT": "RECORD"}
COLUMNS: Final = {
    "STRING": "VARCHAR",
    "INTEGER": "BIGINT",
    "FLOAT": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
    "DATETIME": "TIMESTAMP",
    "DATE": "DATE",
    "TIME": "TIME",
    "NUMERIC": "DECIMAL(38,9)",
    "BIGNUMERIC": "DECIMAL(38,9)",
    "BYTES": "BLOB",
    "JSON": "JSON",
}
FOUND: Final = {
    "varchar": "STRING",
    "uuid": "STRING",
    "boolean": "BOOLEAN",
    "double": "FLOAT",
    "float": "FLOAT",
    "timestamp with time zone": "TIMESTAMP",
    "timestamp": "DATETIME",
    "timestamp_s": "DATETIME",
    "timestamp_ms": "DATETIME",
    "timestamp_ns": "DATETIME",
    "date": "DATE",
    "time": "TIME",
    "decimal": "NUMERIC",
    "blob": "BYTES",
    "json": "JSON",
    **{f"{sign}{size}": "INTEGER" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")},
    "hugeint": "INTEGER",
    "uhugeint": "INTEGER",
    "null": "INTEGER",  # what the real service says of a bare NULL, too
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table or of a result; a RECORD has fields of its own."""

    name: str
    type: str
    mode: Mode = "NULLABLE"
    fields: tuple["Field", ...] = ()

    def resource(self) -> dict[str, Any]:
        own = {"fields": [field.resource() for field in self.fields]} if self.fields else {}
        return {"name": self.name, "type": self.type, "mode": self.mode, **own}

    @property
    def column(self) -> str:
        """The type in DuckDB."""
        inner = COLUMNS.get(self.type) or _struct([(field.name, field.column) for field in self.fields])
        return f"{inner}[]" if self.mode == "REPEATED" else inner


def parsed(resource: Mapping[str, Any]) -> tuple[Field, ...]:
    """The schema that a request brings."""
    return tuple(_field(one) for one in resource.get("fields", ()))


def described(columns: Sequence[tuple[str, DuckDBPyType]]) -> tuple[Field, ...]:
    """The schema that a result turns out to have."""
    return tuple(_found(name, kind) for name, kind in columns)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _field(resource: Mapping[str, Any]) -> Field:
    name, kind = str(resource.get("name", "")), str(resource.get("type", "")).upper()
    kind = ALIASES.get(kind, kind)
    if not name or (kind not in COLUMNS and kind != "RECORD"):
        raise invalid(f"Invalid schema: field {name!r} has no known type ({kind or 'none'}).")
    return Field(name, kind, resource.get("mode") or "NULLABLE", parsed(resource))


def _found(name: str, kind: DuckDBPyType) -> Field:
    children: list[tuple[str, Any]] = kind.children if kind.id in {"list", "struct"} else []
    if kind.id == "list":
        inner = _found(name, children[0][1])
        return Field(name, inner.type, "REPEATED", inner.fields)
    if kind.id == "struct":
        return Field(name, "RECORD", fields=described(children))
    found = FOUND.get("json" if str(kind) == "JSON" else kind.id)
    if found is None:
        raise not_emulated(f"the type {kind} of column {name}")
    return Field(name, found)


def _struct(fields: list[tuple[str, str]]) -> str:
    return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in fields)})"
