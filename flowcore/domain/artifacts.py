"""Where a step's result lies, and how to tell that an object found there is that result.

The name of an object is a function of run and step alone: no clock, no chance. So a retry finds what an earlier
attempt left behind, and two attempts cannot leave two results.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from flowcore.domain.errors import Code, ValidationError, shown
from flowcore.domain.model import NO_VALUES, RUN_ID, Step, is_name, no_values
from flowcore.domain.plain import plain_map
from flowcore.domain.times import to_text

JSON = "application/json"
PNG = "image/png"
DEFAULT_NAME = "result"
# Cloud Storage takes 4 KiB for one value of an object's metadata and 8 KiB for all of them.
METADATA_LIMIT = 3500

_FILE_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a step hands over: the engine stores it under the step's name and finalizes the step from it.

    `outputs` and `execution` travel in the object's metadata too, so that whoever finds the object can finalize the
    step exactly as its author would have. Content too large for the memory comes in pieces, which can be had once;
    `outputs` and `execution` are then looked at after the last piece, so they may be filled on the way.
    """

    content: bytes | Iterable[bytes]
    content_type: str
    outputs: Mapping[str, object] = field(default_factory=no_values)
    execution: Mapping[str, object] = field(default_factory=no_values)

    @classmethod
    def json(
        cls,
        value: object,
        *,
        outputs: Mapping[str, object] = NO_VALUES,
        execution: Mapping[str, object] = NO_VALUES,
    ) -> Artifact:
        return cls(canonical_json(value), JSON, outputs, execution)

    @classmethod
    def png(cls, content: bytes) -> Artifact:
        return cls(content, PNG)


def main_object(run_id: str, step: Step, name: str = DEFAULT_NAME) -> str:
    """The one object whose existence means that the step is done."""
    match step.step_type:
        case "OHLCV_EXPORT":
            return _path("runs", run_id, "ohlcv", _timeframe(step) + ".json")
        case "CHART_EXPORT":
            return side_object(run_id, step, "manifest.json")
        case "LLM_REPORT":
            return _path("runs", run_id, "reports", _timeframe(step), step.step_id + ".json")
        case _:
            return side_object(run_id, step, name)


def side_object(run_id: str, step: Step, name: str) -> str:
    """An object in the step's own folder: an image, the evidence of a failed attempt, or what else a step keeps."""
    if not _FILE_NAME.fullmatch(name):
        raise ValidationError(Code.INVALID_STEP_INPUTS, f"{shown(name)} cannot be the name of an object")
    if step.step_type == "CHART_EXPORT":
        return _path("charts", run_id, step.step_id, name)
    return _path("runs", run_id, "steps", step.step_id, name)


def chart_image(chart_template_id: str) -> str:
    return chart_template_id + ".png"


def chart_evidence(attempt: int) -> str:
    """The manifest of a failed attempt: apart, because `manifest.json` means success."""
    return f"manifest.attempt-{attempt}.json"


def ownership(run_id: str, step: Step) -> dict[str, str]:
    """What an object says of itself from its first moment: whose it is, and what it was made from."""
    return {"run": run_id, "step": step.step_id, "inputs-sha256": inputs_sha256(step)}


def description(artifact: Artifact, content_sha256: str) -> dict[str, str]:
    """What can be said when the content is complete: its hash, and how to finalize the step from it."""
    about = {"sha256": content_sha256}
    for key, value in (("outputs", artifact.outputs), ("execution", artifact.execution)):
        text = json.dumps(plain_map(value), sort_keys=True, separators=(",", ":"), default=_plain)
        # Too large for metadata: the step is recorded without it. Better than no object.
        if len(text) <= METADATA_LIMIT:
            about[key] = text
    return about


def belongs_to(found: Mapping[str, str], run_id: str, step: Step) -> bool:
    """Same run, same step, same inputs: then the object is the result, whatever its text says."""
    return (found.get("run"), found.get("step"), found.get("inputs-sha256")) == (
        run_id,
        step.step_id,
        inputs_sha256(step),
    )


def recorded(found: Mapping[str, str], key: str) -> Mapping[str, object]:
    """The `outputs` or `execution` that an object's author recorded in its metadata; empty if it cannot be read."""
    try:
        value = json.loads(found.get(key, "{}"))
    except (ValueError, RecursionError):
        return NO_VALUES
    return value if isinstance(value, dict) else NO_VALUES


def inputs_sha256(step: Step) -> str:
    return sha256(canonical_json(step.inputs))


def canonical_json(value: object) -> bytes:
    """One value, one text: sorted keys, compact, UTF-8 unescaped; what JSON does not know is written as text."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain)
    return text.encode("utf-8", "backslashreplace")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _plain(value: object) -> object:
    """No `str` of an unknown object: it may hold its address, and the same inputs must have the same hash."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return to_text(value) if value.tzinfo else value.isoformat()
    return value.hex() if isinstance(value, bytes) else f"({type(value).__name__})"


def _timeframe(step: Step) -> str:
    if not is_name(step.timeframe):
        where = f"steps.{step.step_id}.timeframe"
        raise ValidationError(
            Code.INVALID_STEP_INPUTS, f"{where}: {shown(step.timeframe)} cannot be part of an object's name"
        )
    return str(step.timeframe)


def _path(root: str, run_id: str, *segments: str) -> str:
    if not RUN_ID.fullmatch(run_id):
        raise ValidationError(Code.FLOW_RUN_INVALID, f"runId: {shown(run_id)} cannot be part of an object's name")
    return "/".join((root, run_id, *segments))
