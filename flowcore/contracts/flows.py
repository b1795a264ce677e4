"""Flow definitions, and the run documents that are made from them.

A definition names parameters and writes the steps with placeholders: `"${symbol}"`. A step whose id holds
`${timeframe}` stands for one step per timeframe; in any other step a list item that holds it stands for one item per
timeframe, so a join is written like a fork. What comes out is complete: a run never looks at its definition again, and
a definition that changes changes no run.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NoReturn

from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.domain.errors import Code, ValidationError, shown
from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.plain import plain_map
from flowcore.domain.times import to_text

FLOW_KEY = re.compile(r"[a-z][a-z0-9_]{0,99}")
LOOP = "timeframe"
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_.]+)\}")
_PINNED = ("stepType", "dependsOn", "inputs", "timeframe", "optional", "retry")


def instantiate(
    definition: Mapping[str, object],
    parameters: Mapping[str, object],
    *,
    run_id: str,
    now: datetime,
    trigger: Mapping[str, str],
) -> dict[str, object]:
    """The run document. Whatever is wrong with the definition or the parameters is said with its path."""
    scope = resolved(definition, parameters)
    templates = definition.get("steps")
    if not isinstance(templates, Mapping) or not templates:
        _unusable("steps", "must be a map of at least one step")
    steps: dict[str, object] = {}
    for step_id, step in _steps(templates, scope):
        if step_id in steps:
            _unusable(f"steps.{step_id}", "two steps get this id; does a list of timeframes name one twice?")
        steps[step_id] = {"status": "PENDING", "createdAt": to_text(now), "outputs": {}, **step}
    run: dict[str, object] = {
        "schemaVersion": 1,
        "runId": run_id,
        "flowKey": definition.get("flowKey"),
        "definitionSha256": sha256(canonical_json(definition)),
        "status": "PENDING",
        "createdAt": to_text(now),
        "trigger": dict(trigger),
        "scope": scope,
        "steps": steps,
    }
    defect = parse_run(Snapshot(run_id, run, now)).defect
    if defect:
        _unusable(defect.path, defect.reason)
    return run


def resolved(definition: Mapping[str, object], parameters: Mapping[str, object]) -> dict[str, object]:
    """Every parameter of the definition with its value: the given one, or its default."""
    declared = definition.get("parameters", {})
    if not isinstance(declared, Mapping):
        _unusable("parameters", "must be a map")
    for name in parameters:
        if name not in declared:
            raise ValidationError(
                Code.INVALID_REQUEST, f"parameters.{name}: the flow has no such parameter{_perhaps(name, declared)}"
            )
    return {name: _value(str(name), about, parameters) for name, about in declared.items()}


def _value(name: str, about: object, parameters: Mapping[str, object]) -> object:
    if not isinstance(about, Mapping):
        _unusable(f"parameters.{name}", "must be a map with a default, a pattern or a description")
    if name not in parameters and "default" not in about:
        raise ValidationError(Code.INVALID_REQUEST, f"parameters.{name}: is missing, and has no default")
    value = parameters.get(name, about.get("default"))
    default = about.get("default")
    if default is not None and type(value) is not type(default):
        kind = type(default).__name__
        raise ValidationError(Code.INVALID_REQUEST, f"parameters.{name}: must be a {kind}, as its default is")
    if plain_map({name: value}) != {name: value}:
        raise ValidationError(Code.INVALID_REQUEST, f"parameters.{name}: Firestore cannot hold this value")
    _check_pattern(name, about.get("pattern"), value if isinstance(value, list) else [value])
    return value


def _check_pattern(name: str, pattern: object, texts: list[object]) -> None:
    if pattern is None:
        return
    try:
        fits = re.compile(str(pattern)).fullmatch
    except re.error:
        _unusable(f"parameters.{name}.pattern", f"{shown(pattern)} is no regular expression")
    for text in texts:
        if not (isinstance(text, str) and fits(text)):
            raise ValidationError(Code.INVALID_REQUEST, f"parameters.{name}: {shown(text)} does not match {pattern}")


def _steps(steps: Mapping[str, object], scope: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    for template, about in steps.items():
        if not isinstance(about, Mapping):
            _unusable(f"steps.{template}", "must be a map")
        step = {field: about[field] for field in _PINNED if field in about}
        for values in _each(scope) if _loops(template) else [scope]:
            where = f"steps.{template}"
            step_id = str(_filled(template, values, where))
            yield step_id, {field: _filled(value, values, f"{where}.{field}") for field, value in step.items()}


def _each(scope: Mapping[str, object]) -> list[Mapping[str, object]]:
    timeframes = scope.get("timeframes")
    if not isinstance(timeframes, list) or not timeframes:
        _unusable("parameters.timeframes", "must be a list of at least one timeframe, because steps are made for each")
    return [{**scope, LOOP: timeframe} for timeframe in timeframes]


def _loops(text: object) -> bool:
    return isinstance(text, str) and LOOP in _PLACEHOLDER.findall(text)


def _filled(value: object, values: Mapping[str, object], where: str) -> object:
    if isinstance(value, Mapping):
        return {key: _filled(item, values, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [filled for item in value for filled in _items(item, values, where)]
    if not isinstance(value, str):
        return value
    whole = _PLACEHOLDER.fullmatch(value)
    if whole:
        return _looked_up(whole[1], values, where)
    return _PLACEHOLDER.sub(lambda found: str(_looked_up(found[1], values, where)), value)


def _items(item: object, values: Mapping[str, object], where: str) -> list[object]:
    if LOOP not in values and _loops(item):
        return [_filled(item, each, where) for each in _each(values)]
    return [_filled(item, values, where)]


def _looked_up(path: str, values: Mapping[str, object], where: str) -> object:
    name, *rest = path.split(".")
    if name not in values:
        _unusable(where, f"${{{path}}} is no parameter of the flow{_perhaps(name, values)}")
    found = values[name]
    for part in rest:
        if isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, Mapping) and part in found:
            found = found[part]
        else:
            _unusable(where, f"${{{path}}}: there is no {part!r} in it")
    return found


def _perhaps(name: object, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(str(name), map(str, known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _unusable(path: str, message: str) -> NoReturn:
    raise ValidationError(Code.FLOW_DEFINITION_INVALID, f"{path}: {message}", details={"path": path})
