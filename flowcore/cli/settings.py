"""`--set name=value`: the text of a shell, as the value that the flow's parameter takes.

The parameter's default says of what type it is:

| default | `--set` takes |
|---|---|
| a text | the text as it stands, digits or not |
| a list of texts | a JSON list, or words with commas between them |
| anything else | JSON: a number, true or false, a list, a map |
| none | JSON where it is JSON, else text; with a `pattern`, which is about texts, only lists are read as JSON |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from flowcore.cli.problems import Exit, Problem


def settings(given: Sequence[str], definition: Mapping[str, object]) -> dict[str, object]:
    """`symbol=ETHUSDT` or `scope.symbol=ETHUSDT`; a name that the flow does not know is for others to refuse."""
    declared = definition.get("parameters")
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.removeprefix("scope.")
        if not equals or not name:
            raise Problem(f"--set {text}: write name=value, as in --set symbol=ETHUSDT", Exit.MISUSED)
        about = declared.get(name) if isinstance(declared, Mapping) else None
        found[name] = _value(value, about if isinstance(about, Mapping) else {})
    return found


def _value(text: str, about: Mapping[str, object]) -> object:
    match about.get("default"):
        case str():
            return text
        case [*items] if all(isinstance(item, str) for item in items):
            value = _json(text)
            return value if isinstance(value, list | dict) else [word.strip() for word in text.split(",")]
        case float():
            value = _json(text)
            return float(value) if type(value) is int else value
        case None if about.get("pattern") is not None:
            value = _json(text)
            return value if isinstance(value, list) else text
    return _json(text)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
