"""What is wrong with a flow in a file, all of it at once and where: before anybody runs it.

A file holds a definition, or a whole run document; the latter says so by its `status` or `runId`. Both go through the
same doors as in earnest (`instantiate`, `parse_run`), which stop at the first defect. What people get wrong most often,
names and shapes, is looked for before that, so that one look at the file is enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flowcore.cli import inputs, schemas
from flowcore.cli.inputs import perhaps
from flowcore.cli.positions import Places, Position, places
from flowcore.contracts.flows import instantiate
from flowcore.domain.errors import ValidationError, shown
from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.times import from_value

Written = Callable[[str], str]
_EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
_PLACEHOLDER = re.compile(r"\\\$\\\{[A-Za-z0-9_\\.]+\\\}")


@dataclass(frozen=True, slots=True)
class Finding:
    severity: str  # error: it cannot run like this; warning: it can, but is it meant?
    path: str
    message: str
    position: Position

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.position.line}:{self.position.column}: {self.severity}: {where}{self.message}"


def is_run(document: Mapping[str, Any]) -> bool:
    return "status" in document or "runId" in document


def check(text: str, document: Mapping[str, Any]) -> list[Finding]:
    """What there is to say about the document that this text is, in the order of the text."""
    found = _Findings(places(text))
    for path, position in found.places.repeated:
        found.at(position, path, "is there twice; only the last one counts")
    if is_run(document):
        _check_run(found, document)
    else:
        _check_definition(found, document)
    return found.in_order()


class _Findings:
    def __init__(self, there: Places) -> None:
        self.places = there
        self._found: dict[tuple[Position, str], Finding] = {}

    def error(self, path: str, message: str) -> None:
        self.at(self.places.of(path), path, message)

    def warning(self, path: str, message: str) -> None:
        self.at(self.places.of(path), path, message, "warning")

    def at(self, position: Position, path: str, message: str, severity: str = "error") -> None:
        """One place and one path have one finding: the first, which is the most precise."""
        self._found.setdefault((position, path), Finding(severity, path, message, position))

    @property
    def errors(self) -> bool:
        return any(finding.severity == "error" for finding in self._found.values())

    def in_order(self) -> list[Finding]:
        return sorted(self._found.values(), key=lambda each: (each.position.line, each.position.column, each.path))


def _check_run(found: _Findings, document: Mapping[str, Any]) -> None:
    for path, message in schemas.mistakes(schemas.RUN, document):
        found.error(path, message)
    _check_names(found, document, schemas.RUN, schemas.STEP_OF_A_RUN)
    steps = _maps(document.get("steps"))
    for path, name, known in _unknown_dependencies(steps, list(steps)):
        found.error(path, f"{shown(name)} is not a step of this run{perhaps(name, known)}")
    _check_inputs(found, steps, steps, str)
    if not found.errors:
        run_id = document.get("runId")
        snapshot = Snapshot(run_id if isinstance(run_id, str) else "run", _thawed(document), _EPOCH)
        if defect := parse_run(snapshot).defect:
            found.error(defect.path, defect.reason)


def _check_definition(found: _Findings, document: Mapping[str, Any]) -> None:
    for path, message in schemas.mistakes(schemas.DEFINITION, document):
        found.error(path, message)
    _check_names(found, document, schemas.DEFINITION, schemas.STEP_OF_A_DEFINITION)
    for name, parameter in _maps(document.get("parameters")).items():
        _check_fields(found, f"parameters.{name}", parameter, schemas.PARAMETER, "a parameter")
    if found.errors:
        return
    templates = _maps(document.get("steps"))
    try:
        without = {name: {key: step[key] for key in step if key != "dependsOn"} for name, step in templates.items()}
        expanded = list(_instantiated({**document, "steps": without})["steps"])
        for path, name, known in _unknown_dependencies(templates, expanded):
            found.error(path, f"{shown(name)} is not a step of this flow{perhaps(name, known)}")
        if not found.errors:
            unsaid = {name for name, step in templates.items() if _has_holes(step, document)}
            steps = _maps(_instantiated(document)["steps"])
            known = {step_id: step for step_id, step in steps.items() if _template(step_id, templates) not in unsaid}
            _check_inputs(found, known, steps, lambda step_id: _template(step_id, templates))
    except ValidationError as mistake:
        path, _, message = mistake.error.message.partition(": ")
        found.error(_as_written(path, templates), message)


def _instantiated(definition: Mapping[str, Any]) -> dict[str, Any]:
    """As for a caller who leaves everything at its default; what has none gets its own name."""
    parameters = {
        name: about if "default" in about else {"default": ["1d"] if name == "timeframes" else name}
        for name, about in _maps(definition.get("parameters")).items()
    }
    trigger = {"type": "USER", "source": "flow validate"}
    return instantiate({**definition, "parameters": parameters}, {}, run_id="run", now=_EPOCH, trigger=trigger)


def _has_holes(step: Mapping[str, Any], definition: Mapping[str, Any]) -> bool:
    """Whether it holds a parameter without a default: what its inputs will be, only the caller knows."""
    open_ = [name for name, about in _maps(definition.get("parameters")).items() if "default" not in about]
    text = json.dumps(step)
    return any(re.search(rf"\$\{{{re.escape(name)}[.}}]", text) for name in open_)


def _check_names(found: _Findings, document: Mapping[str, Any], whole: str, step: str) -> None:
    _check_fields(found, "", document, whole, "a run" if is_run(document) else "a flow definition")
    for name, about in _maps(document.get("steps")).items():
        _check_fields(found, f"steps.{name}", about, step, "a step")
        kind = about.get("stepType")
        if isinstance(kind, str) and kind and kind not in schemas.INPUTS:
            hint = perhaps(kind, schemas.INPUTS) or "; is a worker for it deployed?"
            found.warning(f"steps.{name}.stepType", f"{shown(kind)} is none of {', '.join(schemas.INPUTS)}{hint}")


def _check_fields(found: _Findings, path: str, about: Mapping[str, Any], schema: str, what: str) -> None:
    """A name that is nearly a known one is a slip; any other may be somebody's own."""
    known = schemas.fields(schema)
    for name in about:
        if name not in known:
            slip = perhaps(name, known)
            told = found.error if slip else found.warning
            told(f"{path}.{name}".lstrip("."), f"{what} has no such field{slip or '; it has no effect'}")


def _check_inputs(
    found: _Findings, steps: Mapping[str, Mapping[str, Any]], every: Collection[str], written: Written
) -> None:
    """`written`: how the file spells the id of a step; `every`: the ids of all steps."""
    for step_id, step in steps.items():
        for severity, path, message in inputs.mistakes(step, every):
            place = f"steps.{written(step_id)}.inputs.{path}".rstrip(".")
            found.at(found.places.of(place), place, message, severity)


def _unknown_dependencies(
    steps: Mapping[str, Mapping[str, Any]], expanded: Iterable[str]
) -> Iterator[tuple[str, str, Iterable[str]]]:
    for step_id, step in steps.items():
        for position, name in enumerate(step.get("dependsOn") or []):
            if isinstance(name, str) and not any(_fits(name, each) for each in expanded):
                yield f"steps.{step_id}.dependsOn[{position}]", name, [each for each in steps if each != step_id]


def _fits(template: str, step_id: str) -> bool:
    return bool(re.fullmatch(_PLACEHOLDER.sub(".+", re.escape(template)), step_id))


def _template(step_id: str, templates: Iterable[str]) -> str:
    return next((template for template in templates if _fits(template, step_id)), step_id)


def _as_written(path: str, templates: Iterable[str]) -> str:
    """A path into the run that came out, as a path into the definition that went in."""
    head, _, rest = path.partition("steps.")
    for step_id in sorted(_heads(rest), key=len):
        template = _template(step_id, templates)
        if template != step_id or template in templates:
            return f"{head}steps.{template}{rest[len(step_id) :]}"
    return path


def _heads(path: str) -> list[str]:
    """Every beginning that could be the step's id: an id that is still a template may have dots in it."""
    return [path[: found.start()] for found in re.finditer(r"[.\[]|$", path)]


def _maps(value: object) -> dict[str, Mapping[str, Any]]:
    members = value if isinstance(value, Mapping) else {}
    return {name: about for name, about in members.items() if isinstance(about, Mapping)}


def _thawed(value: Any) -> Any:
    """A Timestamp, which JSON cannot say, is written {"$timestamp": …}."""
    if isinstance(value, Mapping):
        return from_value(value["$timestamp"]) if value.keys() == {"$timestamp"} else _each(value)
    return [_thawed(item) for item in value] if isinstance(value, list) else value


def _each(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _thawed(item) for name, item in value.items()}
