"""Whatever a model put into `output.details`, as something to read.

Its shape is the schema's affair and there are many schemas, so the form follows the data: a map is a list of terms,
maps of one kind are a table, short values are a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flowcore.cli.report import words

_DEEPEST = 6  # beyond it a value is shown as it was written
_WIDEST = 6  # columns that still fit a page
_SHORT = 24  # characters of a value that may share its line


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    form = "line"


@dataclass(frozen=True, slots=True)
class Terms:
    entries: Sequence[tuple[str, Node]]
    form = "terms"


@dataclass(frozen=True, slots=True)
class Grid:
    headings: Sequence[str]
    rows: Sequence[Sequence[Node]]
    form = "grid"


@dataclass(frozen=True, slots=True)
class Items:
    """`in_line`: short ones, that read best beside each other."""

    items: Sequence[Node]
    in_line: bool
    form = "items"


Node: TypeAlias = Line | Terms | Grid | Items


def as_tree(value: object, depth: int = 0) -> Node:
    if depth >= _DEEPEST and isinstance(value, Mapping | list):
        return Line(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, Mapping):
        return Terms([(words.label(str(key)), as_tree(item, depth + 1)) for key, item in value.items()])
    if isinstance(value, list):
        return _listed(value, depth)
    return Line(_said(value))


def _listed(values: list[object], depth: int) -> Node:
    maps = [value for value in values if isinstance(value, Mapping)]
    if maps and len(maps) == len(values):
        columns = list(dict.fromkeys(key for each in maps for key in each))
        flat = all(not isinstance(item, Mapping | list) for each in maps for item in each.values())
        if flat and len(columns) <= _WIDEST:
            rows = [[as_tree(each.get(column, ""), depth + 1) for column in columns] for each in maps]
            return Grid([words.label(str(column)) for column in columns], rows)
    nodes = [as_tree(value, depth + 1) for value in values]
    return Items(nodes, in_line=all(isinstance(node, Line) and len(node.text) <= _SHORT for node in nodes))


def _said(value: object) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return words.number(value)
        case _:
            return str(value)
