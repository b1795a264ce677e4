"""The door: the only reader of raw run documents.

Behind it there are no `dict.get` chains and no surprises. Absent fields have defaults and unknown ones are ignored,
so that documents of older and newer versions still advance. A field of the wrong type is a defect with its path;
the run is then ended with that path in its error, never silently stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from flowcore.domain import graph, times
from flowcore.domain.errors import Code, StepError, may_retry, shown
from flowcore.domain.model import (
    DEFAULT_MAX_ATTEMPTS,
    MAX_DOCUMENT_BYTES,
    MAX_STEPS,
    RUN_ID,
    Defect,
    Lease,
    Run,
    RunStatus,
    Snapshot,
    Step,
    StepStatus,
    is_name,
)

T = TypeVar("T")
Fields = Mapping[str, object]


class _Bad(Exception):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path)
        self.defect = Defect(path, reason)


def parse_run(snapshot: Snapshot) -> Run:
    """A run, whatever the document says. What cannot be read is its `defect`: the first one found, with its path."""
    document = snapshot.document
    defects: list[Defect] = []

    def attempt(read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except _Bad as bad:
            defects.append(bad.defect)
            return otherwise

    raw_steps: Fields = attempt(lambda: _steps_of(snapshot), {})
    steps: dict[str, Step] = {}
    for step_id in sorted(raw_steps):
        step = attempt(lambda step_id=step_id: _step(step_id, raw_steps[step_id]), None)  # type: ignore[misc]
        if step:
            steps[step_id] = step
    return Run(
        run_id=snapshot.run_id,
        status=attempt(lambda: _status(document, "status", RunStatus), RunStatus.PENDING),
        steps=steps,
        cancel_requested=attempt(lambda: _flag(document, "cancelRequested"), False),
        scope=attempt(lambda: _map(document, "scope", ""), {}),
        error=_error(document.get("error")),
        wake_at=_timestamp(document.get("wakeAt")),
        created_at=times.from_value(document.get("createdAt")),
        finished_at=times.from_value(document.get("finishedAt")),
        defect=defects[0] if defects else graph.find_defect(snapshot.run_id, steps),
    )


def _steps_of(snapshot: Snapshot) -> Fields:
    document = snapshot.document
    if not RUN_ID.fullmatch(snapshot.run_id):
        raise _Bad("runId", f"the document id {shown(snapshot.run_id)} is not a run id")
    if document.get("runId", snapshot.run_id) != snapshot.run_id:
        raise _Bad("runId", f"is {shown(document.get('runId'))}, but the document id is {shown(snapshot.run_id)}")
    raw = document.get("steps")
    if not isinstance(raw, Mapping) or not raw:
        raise _Bad("steps", "must be a map with at least one step")
    # Once a run has begun it grows by what is recorded in it, and that must not end it. The first that is recorded of
    # a run that goes on is when to wake it; documents from before that have steps with attempts.
    claimed = any(isinstance(step, Mapping) and step.get("attempt") for step in raw.values())
    begun = claimed or _timestamp(document.get("wakeAt"))
    if not begun and size_of(document) > MAX_DOCUMENT_BYTES:
        raise _Bad("(document)", f"is larger than {MAX_DOCUMENT_BYTES} bytes")
    if len(raw) > MAX_STEPS:
        raise _Bad("steps", f"has {len(raw)} steps, more than {MAX_STEPS}")
    for step_id in raw:
        if not is_name(step_id):
            raise _Bad("steps", f"{shown(step_id)} cannot be a step id")
    return raw


def _step(step_id: str, raw: object) -> Step:
    at = f"steps.{step_id}."
    if not isinstance(raw, Mapping):
        raise _Bad(at[:-1], "must be a map")
    step_type = raw.get("stepType")
    if not isinstance(step_type, str) or not step_type:
        raise _Bad(at + "stepType", "must be a non-empty text")
    return Step(
        step_id=step_id,
        step_type=step_type,
        status=_status(raw, "status", StepStatus, at),
        depends_on=_names(raw, "dependsOn", at),
        optional=_flag(raw, "optional", at),
        timeframe=_text_or_none(raw.get("timeframe")),
        inputs=_map(raw, "inputs", at),
        outputs=_map(raw, "outputs", at),
        max_attempts=_count(_map(raw, "retry", at), "maxAttempts", at + "retry.", DEFAULT_MAX_ATTEMPTS, least=1),
        attempt=_count(raw, "attempt", at),
        failures=_count(raw, "failures", at),
        lease_losses=_count(raw, "leaseLosses", at),
        nudges=_count(raw, "nudges", at),
        lease=_lease(raw.get("lease"), at + "lease"),
        error=_error(raw.get("error")),
        ready_at=_moment(raw, "readyAt", at),
        not_before=_moment(raw, "notBefore", at),
        started_at=_moment(raw, "startedAt", at),
        finished_at=times.from_value(raw.get("finishedAt")),
        attempts=tuple(entry for entry in _list_or_empty(raw.get("attempts")) if isinstance(entry, Mapping)),
    )


def _status(raw: Fields, key: str, statuses: type[T], at: str = "") -> T:
    value = raw.get(key)
    try:
        if isinstance(value, str):
            return statuses(value)  # type: ignore[call-arg]
    except ValueError:
        pass  # said below, as for any other value
    raise _Bad(at + key, f"{shown(value)} is not a status")


def _names(raw: Fields, key: str, at: str) -> tuple[str, ...]:
    names = raw.get(key)
    if names is None:
        return ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _Bad(at + key, "must be a list of step ids")
    return tuple(names)


def _flag(raw: Fields, key: str, at: str = "") -> bool:
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        raise _Bad(at + key, "must be true or false")
    return bool(value)


def _map(raw: Fields, key: str, at: str) -> Fields:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _Bad(at + key, "must be a map")
    return value


def _count(raw: Fields, key: str, at: str, default: int = 0, least: int = 0) -> int:
    value = raw.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _Bad(at + key, f"must be a whole number from {least} up")
    return value


def _moment(raw: Fields, key: str, at: str) -> datetime | None:
    value = raw.get(key)
    moment = times.from_value(value)
    if value is not None and moment is None:
        raise _Bad(at + key, "must be an RFC 3339 time with an offset")
    return moment


def _timestamp(value: object) -> datetime | None:
    """Text would look the same to people, but a query for Timestamps would never find it."""
    return times.from_value(value) if isinstance(value, datetime) else None


def _lease(raw: object, at: str) -> Lease | None:
    if raw is None:
        return None
    if not isinstance(raw, Mapping) or not isinstance(raw.get("token"), str):
        raise _Bad(at, "must be a map with token and expiresAt")
    expires_at = _moment(raw, "expiresAt", at + ".")
    if expires_at is None:
        raise _Bad(at + ".expiresAt", "is missing")
    return Lease(raw["token"], expires_at)


def _error(raw: object) -> StepError | None:
    """Errors are read leniently: a FAILED step with an odd error is still a FAILED step."""
    if raw is None:
        return None
    fields: Fields = raw if isinstance(raw, Mapping) else {}
    code = _text_or_none(fields.get("code")) or Code.INTERNAL
    said = fields.get("retryable")
    details = fields.get("details")
    return StepError(
        code=code,
        message=_text_or_none(fields.get("message")) or "",
        retryable=may_retry(code, said if isinstance(said, bool) else None),
        details=details if isinstance(details, Mapping) else None,
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _list_or_empty(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else ()


def size_of(value: object) -> int:
    """Roughly what Firestore counts for a value. A loop, not a recursion: depth is the document's choice."""
    total, todo = 0, [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            # Surrogates cannot be encoded; counting characters is near enough for a limit.
            total += 1 + (len(item) if item.isascii() else len(item.encode("utf-8", "replace")))
        elif isinstance(item, dict | Mapping):
            todo += item
            todo += item.values()
        elif isinstance(item, list | tuple):
            todo.extend(item)
        elif isinstance(item, bytes):
            total += len(item)
        else:
            total += 8
    return total
