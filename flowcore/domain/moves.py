"""The moves of one step: what each transition writes, and nothing about when it happens.

Together they keep the promises that a reader of the document relies on: `lease` only while RUNNING, `error` only when
FAILED or SKIPPED, `outputs.gcs_uri` whenever SUCCEEDED, and an `attempt` that only ever grows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice

from flowcore.domain import patch
from flowcore.domain.errors import StepError, one_line
from flowcore.domain.model import NO_VALUES, Lease, Step, StepStatus, no_values
from flowcore.domain.plain import plain_map
from flowcore.domain.times import to_text

KEPT_ATTEMPTS = 5
DETAILS_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The step's object exists. `reused`: it was found, not made, by whoever records it."""

    gcs_uri: str
    outputs: Mapping[str, object] = field(default_factory=no_values)
    execution: Mapping[str, object] = field(default_factory=no_values)
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """`outputs` may point at evidence that the attempt left behind."""

    error: StepError
    outputs: Mapping[str, object] = field(default_factory=no_values)


def ready(step: Step, now: datetime) -> Step:
    return replace(step, status=StepStatus.READY, ready_at=now, not_before=None, nudges=0)


def offered_again(step: Step, now: datetime, nudges: int) -> Step:
    """A fresh `readyAt` makes a fresh event; a write that changes nothing would not."""
    return replace(step, ready_at=now, nudges=nudges)


def claimed(step: Step, token: str, now: datetime, ttl: timedelta) -> Step:
    return replace(
        step,
        status=StepStatus.RUNNING,
        started_at=now,
        lease=Lease(token, now + ttl),
        attempt=step.attempt + 1,
        error=None,
        finished_at=None,
    )


def succeeded(step: Step, result: Succeeded, now: datetime) -> Step:
    # What the step says of its own attempts (a model may be asked twice) counts more than the number of claims.
    execution = {"attempts": {"total": step.attempt}, **result.execution, "timing": _timing(step, now)}
    if result.reused:
        execution["reused"] = True
    given = plain_map({**result.outputs, "gcs_uri": result.gcs_uri, "execution": execution})
    outputs = {**step.outputs, **given}
    return replace(step, status=StepStatus.SUCCEEDED, finished_at=now, outputs=outputs, error=None, lease=None)


def failed(step: Step, error: StepError, now: datetime, outputs: Mapping[str, object] = NO_VALUES) -> Step:
    return replace(
        step,
        status=StepStatus.FAILED,
        finished_at=now,
        error=replace(error, details=_bounded(error.details)),
        lease=None,
        outputs={**step.outputs, **_pointers(outputs)},
    )


def with_failure_counted(step: Step) -> Step:
    """A lost lease is not a failed attempt, so only a worker's own word counts."""
    return replace(step, failures=step.failures + 1)


def with_uri(step: Step, gcs_uri: str) -> Step:
    """SUCCEEDED, but its pointer was lost: only that is added."""
    return replace(step, outputs={**step.outputs, "gcs_uri": gcs_uri})


def rested(step: Step, not_before: datetime | None) -> Step:
    """Back to PENDING for another attempt; the failed one stays readable in `attempts[]`."""
    return replace(with_attempt_kept(step), status=StepStatus.PENDING, not_before=not_before)


def skipped(step: Step, error: StepError | None, now: datetime) -> Step:
    return replace(step, status=StepStatus.SKIPPED, finished_at=now, error=error, not_before=None)


def cancelled(step: Step, now: datetime) -> Step:
    return replace(step, status=StepStatus.CANCELLED, finished_at=now, error=None, not_before=None)


def reopened(step: Step) -> Step:
    """A step that was SKIPPED, or not begun, as if it had only just been written down."""
    return replace(step, status=StepStatus.PENDING, finished_at=None, error=None, not_before=None)


def with_attempt_kept(step: Step) -> Step:
    """The step as before its latest attempt, with that attempt on record: the latest few of them."""
    kept: dict[str, object] = {"attempt": step.attempt}
    if step.started_at:
        kept["startedAt"] = to_text(step.started_at)
    if step.finished_at:
        kept["finishedAt"] = to_text(step.finished_at)
    if step.error:
        kept["error"] = patch.encoded(step.error)
    if step.outputs:
        kept["outputs"] = dict(step.outputs)
    # It now stands two levels further down, and a stranger's values may have used up all the depth there is.
    return replace(
        step,
        attempts=(*step.attempts, plain_map(kept))[-KEPT_ATTEMPTS:],
        started_at=None,
        finished_at=None,
        error=None,
        lease=None,
        outputs=NO_VALUES,
    )


def _bounded(details: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """Details are for diagnosis, and a run document has no room for more than a page of them."""
    if not details:
        return None
    plain = plain_map(details)
    if len(json.dumps(plain, default=str)) <= DETAILS_LIMIT:
        return plain
    figures = {key: value for key, value in plain.items() if isinstance(value, bool | int | float)}
    return {**dict(islice(figures.items(), 20)), "reason": one_line(str(plain.get("reason", ""))), "truncated": True}


def _pointers(outputs: Mapping[str, object]) -> dict[str, object]:
    """What a failed attempt leaves behind are pointers to evidence; the evidence itself has no room here."""
    plain = plain_map(outputs)
    return {key: value for key, value in plain.items() if len(json.dumps(value, default=str)) <= DETAILS_LIMIT}


def _timing(step: Step, now: datetime) -> dict[str, object]:
    started = step.started_at or now
    # A skewed clock may say that the step ended before it began.
    duration = max(0, round((now - started).total_seconds() * 1000))
    return {"startedAt": to_text(started), "finishedAt": to_text(now), "durationMs": duration}
