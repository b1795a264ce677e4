"""A transition as it is written: dotted paths and their new values, valid only for the snapshot it was decided on.

Decisions are made on whole runs (`Run` → `Run`), because that reads well; only the difference is written, because
every other function writes to the same document at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from flowcore.domain import times
from flowcore.domain.errors import StepError
from flowcore.domain.model import Lease, Run, Step, is_name, no_values


class Delete(Enum):
    """The value that removes a field."""

    FIELD = "delete"


DELETE = Delete.FIELD


@dataclass(frozen=True, slots=True)
class Patch:
    changes: Mapping[str, object] = field(default_factory=no_values)

    def __bool__(self) -> bool:
        return bool(self.changes)


NOTHING = Patch()

# Attribute of a Step → field of its document. Whatever is not listed (inputs, dependsOn, …) is never written.
_STEP_FIELDS = {
    "status": "status",
    "attempt": "attempt",
    "failures": "failures",
    "lease_losses": "leaseLosses",
    "nudges": "nudges",
    "lease": "lease",
    "error": "error",
    "ready_at": "readyAt",
    "not_before": "notBefore",
    "started_at": "startedAt",
    "finished_at": "finishedAt",
    "attempts": "attempts",
}
_RUN_FIELDS = {
    "status": "status",
    "cancel_requested": "cancelRequested",
    "error": "error",
    "finished_at": "finishedAt",
}


def between(before: Run, after: Run, now: datetime) -> Patch:
    """What has to be written to turn one run into the other. Nothing changed: nothing to write."""
    changes = dict(_run_changes(before, after))
    for step_id, step in after.steps.items():
        changes.update(_step_changes(before.steps[step_id], step))
    return Patch({**changes, "updatedAt": times.to_text(now)}) if changes else NOTHING


def apply(document: Mapping[str, object], patch: Patch) -> dict[str, object]:
    """The document after the patch, as Firestore would make it; the original is left alone."""
    result = dict(document)
    for path, value in patch.changes.items():
        *parents, leaf = path.split(".")
        target = result
        for name in parents:
            child = target.get(name)
            copied = dict(child) if isinstance(child, Mapping) else {}
            target[name] = copied
            target = copied
        if value is DELETE:
            target.pop(leaf, None)
        else:
            target[leaf] = value
    return result


def encoded(value: object) -> object:
    """A value of the model as it stands in a document."""
    match value:
        case None:
            return DELETE
        case datetime():
            return times.to_text(value)
        case Lease():
            return {"token": value.token, "expiresAt": times.to_text(value.expires_at)}
        case StepError():
            details = {"details": dict(value.details)} if value.details else {}
            return {
                "code": str(value.code),
                "message": value.message,
                "retryable": value.retryable,
                **details,
            }
        case Enum():
            return value.value
        case tuple():
            return [dict(entry) for entry in value]
        case _:
            return value


def _run_changes(before: Run, after: Run) -> Iterator[tuple[str, object]]:
    for name, key in _RUN_FIELDS.items():
        if getattr(before, name) != getattr(after, name):
            yield key, encoded(getattr(after, name))
    if before.wake_at != after.wake_at:
        # The one Timestamp in the document: `sweep` asks for it by inequality.
        yield "wakeAt", after.wake_at or DELETE


def _step_changes(before: Step, after: Step) -> Iterator[tuple[str, object]]:
    if before is after:
        return
    at = f"steps.{after.step_id}."
    for name, key in _STEP_FIELDS.items():
        if getattr(before, name) != getattr(after, name):
            yield at + key, encoded(getattr(after, name))
    keys = [key for key in {**before.outputs, **after.outputs} if before.outputs.get(key) != after.outputs.get(key)]
    if all(is_name(key) for key in keys):
        for key in keys:
            yield f"{at}outputs.{key}", after.outputs.get(key, DELETE)
    else:
        yield at + "outputs", dict(after.outputs)
