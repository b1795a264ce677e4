"""What is promised of any input whatever, looked at from outside: the run, what was stored, and what was logged."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.cloud.firestore import DocumentReference, GeoPoint

from flowcore.domain.errors import REGISTRY
from flowcore.domain.model import RUN_ID, Snapshot
from flowcore.domain.parse import parse_run, size_of
from flowcore.testing.world import T0

TERMINAL = ("SUCCEEDED", "FAILED", "CANCELLED")
LARGEST_EVENT = 500_000
_ENDED = (*TERMINAL, "SKIPPED")
# Said by the engine when something happened that nobody foresaw.
CRASHES = ("step_crashed", "claim_failed", "finalize_failed", "sweep_failed", "start_failed", "invocation_failed")


def of_run(run_id: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """`before` is as the stranger wrote it: what was odd then may stay odd."""
    if "status" not in before and before.keys() == after.keys():  # values need not equal themselves, as NaN does not
        # Firestore cannot be asked for what is missing, so only its event could have told of it. Its event was no run's
        # (the id), or none could be sent (its size).
        if RUN_ID.fullmatch(run_id) and size_of(before) < LARGEST_EVENT:
            yield "a document without a status was passed over"
        return
    if after.get("status") not in TERMINAL:
        yield f"the run is stuck: its status is {after.get('status')!r:.60}"
    yield from _of_error("the run", before.get("error"), after.get("error"))
    invalid = isinstance(after.get("error"), Mapping) and after["error"].get("code") == "FLOW_RUN_INVALID"
    without_words = after.get("status") == "FAILED" and not after.keys() & {"error", "finishedAt"}  # no room for any
    if before.get("status") not in TERMINAL and not without_words:
        yield from _of_defect(run_id, before, after)
    steps = after.get("steps")
    for step_id, step in steps.items() if isinstance(steps, Mapping) else ():
        if not isinstance(step, Mapping):
            continue
        old = before["steps"].get(step_id) if isinstance(before.get("steps"), Mapping) else None
        old = old if isinstance(old, Mapping) else {}
        yield from _of_error(f"step {step_id!r:.40}", old.get("error"), step.get("error"))
        if (
            not invalid
            and not without_words
            and before.get("status") not in TERMINAL
            and step.get("status") not in _ENDED
        ):
            yield f"step {step_id!r:.40} is stuck: {step.get('status')!r:.60}"


def _of_defect(run_id: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Of a document that cannot be read, the run says where; of several defects it says one."""
    error = after.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    told = after.get("status") == "FAILED" and code == "FLOW_RUN_INVALID"
    if isinstance(error, Mapping) and told and not error.get("details", {}).get("path"):
        yield f"the run is invalid, and does not say where: {error!r:.100}"
    defect = parse_run(Snapshot(run_id, before, T0)).defect
    if defect and not told and not _has_places(before):
        yield f"a defect at {defect.path!r:.60} ended {after.get('status')!r:.60} with {code!r:.60}"


def _has_places(value: object) -> bool:
    """Places on the globe, which travel as maps in events."""
    if isinstance(value, Mapping):
        return any(map(_has_places, value.values()))
    return isinstance(value, GeoPoint) or (isinstance(value, list) and any(map(_has_places, value)))


def _of_error(whose: str, old: object, new: object) -> Iterator[str]:
    if isinstance(new, Mapping) and not _same(old, new):
        if new.get("code") not in REGISTRY:
            yield f"{whose} has the code {new.get('code')!r:.60}, which is not in the registry"
        elif new.get("code") == "INTERNAL":
            yield f"{whose} is INTERNAL: {new.get('message')}"


def _same(old: object, new: object) -> bool:
    """Whether it is what a stranger wrote, as Firestore hands it back: with NaN, and references of another client."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, DocumentReference) and isinstance(new, DocumentReference):
        return bool(old.path == new.path)
    return old == new or (old != old and new != new)  # noqa: PLR0124


def of_objects(run_id: str, names: Iterable[str]) -> Iterator[str]:
    homes = (f"runs/{run_id}/", f"charts/{run_id}/")
    for name in names:
        if not name.startswith(homes) or not RUN_ID.fullmatch(run_id) or ".." in name.split("/"):
            yield f"an object outside of the run: {name!r:.100}"


def of_log(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    for event, fields in lines:
        if event in CRASHES:
            exc = fields.get("exc_info")
            yield f"{event}: {reached(exc) if isinstance(exc, BaseException) else str(exc)[:300]}"


def reached(exc: BaseException) -> str:
    """What was raised, and where."""
    place = traceback.extract_tb(exc.__traceback__)[-1]
    return f"{type(exc).__name__} at {place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
