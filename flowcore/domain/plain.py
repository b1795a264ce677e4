"""What a run document can hold. A step may hand over anything; its record must never be refused for that.

Firestore knows no sets, no decimals, no lists inside lists and no numbers beyond 64 bits. A value that it would refuse
at the last write would cost the step its result, so everything from outside is made plain on its way into a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from numbers import Real

LONGEST_KEY = 300  # characters: Firestore takes 1,500 bytes, and some characters have four
DEEPEST = 12  # a document may go 20 levels down, and a step's values begin at the fifth


def plain_map(values: Mapping[str, object]) -> dict[str, object]:
    return _map(values, 0)


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | datetime | bytes):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else hex(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if depth >= DEEPEST:
        return f"({type(value).__name__})"
    if isinstance(value, Mapping):
        return _map(value, depth)
    if isinstance(value, list | tuple | set | frozenset):
        return [_item(item, depth + 1) for item in value]
    if isinstance(value, Real):
        return float(value)
    return f"({type(value).__name__})"


def _map(values: Mapping[str, object], depth: int) -> dict[str, object]:
    return {_key(key): _plain(value, depth + 1) for key, value in values.items()}


def _item(value: object, depth: int) -> object:
    item = _plain(value, depth)
    return json.dumps(item, default=str) if isinstance(item, list) else item


def _key(key: object) -> str:
    text = str(_plain(str(key)[:LONGEST_KEY], 0))
    return text if text and not (text.startswith("__") and text.endswith("__")) else f"({text})"
