"""What an open map says at the end of a path, if the path leads there and to something of that kind."""

from __future__ import annotations

from collections.abc import Mapping

from flowcore.domain.model import NO_VALUES


def text_at(fields: Mapping[str, object], *path: str) -> str | None:
    found = _at(fields, path)
    return found if isinstance(found, str) and found else None


def whole_at(fields: Mapping[str, object], *path: str) -> int | None:
    found = _at(fields, path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def map_at(fields: Mapping[str, object], *path: str) -> Mapping[str, object]:
    found = _at(fields, path)
    return found if isinstance(found, Mapping) else NO_VALUES


def _at(fields: Mapping[str, object], path: tuple[str, ...]) -> object:
    found: object = fields
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
