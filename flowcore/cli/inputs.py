"""What is wrong with a step's inputs: their shape, names that are nearly right, and steps that are not there.

A worker would notice most of it, too: at run time, and after other steps have been paid for.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from flowcore.cli import schemas
from flowcore.domain.errors import shown

Found = tuple[str, str, str]  # severity, path, message
_REFERENCES = ("stepId", "ohlcvStepId", "chartsManifestStepId", "previousReportStepIds")


def mistakes(step: Mapping[str, Any], steps: Collection[str]) -> Iterator[Found]:
    """In the inputs of a step of a known type; `steps` are all that the run has."""
    schema, inputs = schemas.INPUTS.get(str(step.get("stepType"))), step.get("inputs", {})
    if schema is None or not isinstance(inputs, Mapping):
        return
    slips = list(_slips(schemas.contents(schema), inputs, ""))
    yield from (("error", path, f"there is no such field; did you mean {name!r}?") for path, name in slips)
    for path, message in schemas.mistakes(schema, inputs):
        if not (slips and message.endswith("is missing")):  # it is there, but misspelt
            yield "error", path, message
    needed = step.get("dependsOn") or ()
    for path, name in _references(inputs, ""):
        if name not in steps:
            yield "error", path, f"{shown(name)} is not a step of this flow{perhaps(name, steps)}"
        elif name not in needed:
            yield "warning", path, f"{shown(name)} is not in dependsOn, so it may not be there yet"


def perhaps(name: object, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def nearest(name: object, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(str(name), known, n=1, cutoff=0.7)), None)


def _slips(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
    """Fields that the schema does not know, but nearly; any other may be somebody's own."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _slips(schemas.resolved(schema.get("items", {})), item, f"{path}[{position}]")
    elif isinstance(value, Mapping):
        known = schema.get("properties", {})
        for name, inner in value.items():
            place = f"{path}.{name}".lstrip(".")
            if name in known:
                yield from _slips(schemas.resolved(known[name]), inner, place)
            elif close := nearest(name, known):
                yield place, close


def _references(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _references(item, f"{path}[{position}]")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            place = f"{path}.{name}".lstrip(".")
            named = inner if isinstance(inner, list) else [inner]
            if name not in _REFERENCES:
                yield from _references(inner, place)
            else:
                yield from ((place, step_id) for step_id in named if isinstance(step_id, str))
