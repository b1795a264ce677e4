"""Query parameters: bound, never spliced. A value travels as text beside the query, and only the engine reads it.

On the wire a parameter is a type and a text. Each becomes a bound value `$p0`, `$p1`, … with a cast to its type, so
that a quote in a value, or a whole statement, is nothing but characters.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlglot import TokenType, exp, tokenize

from emulator.bigquery.errors import invalid, invalid_query, not_emulated
from emulator.bigquery.positions import position
from emulator.bigquery.schema import ALIASES, COLUMNS

POSITIONAL: Final = "positional_"


class Parameter(NamedTuple):
    """A value, and the type in the engine that it is read as."""

    name: str
    column: str
    value: str | bytes | list[Any] | None


def parsed(resources: Sequence[Mapping[str, Any]]) -> list[Parameter]:
    """The parameters that a request brings; the nameless are named by their place."""
    try:
        return [_parameter(resource, place) for place, resource in enumerate(resources, 1)]
    except (AttributeError, KeyError, TypeError):
        raise invalid("queryParameters: each has a parameterType with a type, and a parameterValue") from None


def numbered(sql: str) -> str:
    """The query with its question marks as names: a tree does not keep the order of the text."""
    marks = [token.start for token in tokenize(sql, read="bigquery") if token.token_type is TokenType.PLACEHOLDER]
    for place, start in reversed(list(enumerate(marks, 1))):
        sql = f"{sql[:start]}@{POSITIONAL}{place}{sql[start + 1 :]}"
    return sql


def bind(tree: exp.Expr, parameters: Sequence[Parameter], sql: str) -> dict[str, Any]:
    """Put a typed place into the tree wherever a parameter is named, and return the values for the places."""
    values: dict[str, Any] = {}
    named = {parameter.name.lower(): parameter for parameter in parameters}
    for node in list(tree.find_all(exp.Parameter)):
        name = node.name
        parameter = named.get(name.lower())
        if parameter is None and name.startswith(POSITIONAL):
            raise invalid_query(f"Query parameter number {name.removeprefix(POSITIONAL)} is not defined")
        if parameter is None:
            raise invalid_query(
                f"Query parameter '{name}' not found at {position(sql, sql.lower().find(f'@{name}'.lower()))}"
            )
        place = f"p{parameters.index(parameter)}"
        values[place] = parameter.value
        to = exp.DataType.build(parameter.column, dialect="duckdb")
        node.replace(exp.Cast(this=exp.Placeholder(this=place), to=to))
    return values


def _parameter(resource: Mapping[str, Any], place: int) -> Parameter:
    name = resource.get("name") or f"{POSITIONAL}{place}"
    kind, value = resource["parameterType"], resource["parameterValue"]
    if kind["type"] == "ARRAY":
        column = _column(kind["arrayType"], name)
        items = [_value(one.get("value"), column, name) for one in value.get("arrayValues", ())]
        return Parameter(name, f"{column}[]", items)
    column = _column(kind, name)
    return Parameter(name, column, _value(value.get("value"), column, name))


def _column(kind: Mapping[str, Any], name: str) -> str:
    spelled = ALIASES.get(kind["type"], kind["type"])
    if spelled not in COLUMNS:
        raise not_emulated(f"a query parameter of type {spelled} ({name})")
    return COLUMNS[spelled]


def _value(value: Any, column: str, name: str) -> str | bytes | None:
    if value is None or column != "BLOB":
        return None if value is None else str(value)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise invalid(f"Invalid value for query parameter {name}: not base64") from None
