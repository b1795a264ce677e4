"""Where in a JSON text each value stands: people look for line and column, not for `steps.charts.dependsOn[1]`.

The standard library's reader forgets positions. This one remembers nothing else, and it only looks at text that the
other one has taken: so a list of tokens is all the grammar it needs.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Places:
    """`repeated`: members that an object has twice; a reader takes the last of them and says nothing."""

    by_path: Mapping[str, Position]
    repeated: Sequence[tuple[str, Position]]

    def of(self, path: str) -> Position:
        """Where it stands, or whatever stands nearest above it."""
        within = [
            known for known in self.by_path if path.startswith(known) and path[len(known) :][:1] in ("", ".", "[")
        ]
        return self.by_path[max(within, key=len, default="")]


@dataclass(slots=True)
class _Container:
    path: str
    is_object: bool
    key: str | None = None  # of the member whose value comes next
    index: int = 0
    keys: set[str] = field(default_factory=set)

    def inside(self) -> str:
        if self.is_object:
            return f"{self.path}.{self.key}" if self.path else str(self.key)
        return f"{self.path}[{self.index}]"


def places(text: str) -> Places:
    """An object's members are found at their names, a list's items at their values, the whole at the path ''."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    by_path: dict[str, Position] = {}
    repeated: list[tuple[str, Position]] = []
    within: list[_Container] = []
    for token in _TOKEN.finditer(text):
        line = bisect_right(starts, token.start())
        here, said = Position(line, token.start() - starts[line - 1] + 1), token[0]
        inner = within[-1] if within else None
        if said in ("}", "]"):
            within.pop()
        elif said == "," and inner:
            inner.key, inner.index = None, inner.index + 1
        elif inner and inner.is_object and inner.key is None:
            inner.key = str(json.loads(said))
            if inner.key in inner.keys:
                repeated.append((inner.inside(), here))
            inner.keys.add(inner.key)
            by_path[inner.inside()] = here
        elif said != ":":
            path = inner.inside() if inner else ""
            by_path.setdefault(path, here)
            if said in ("{", "["):
                within.append(_Container(path, is_object=said == "{"))
    return Places(by_path, repeated)
