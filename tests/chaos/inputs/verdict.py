"""What is promised of any input whatever, looked at from outside: the run, what was stored, and what was logged."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flowcore.domain.errors import REGISTRY
from flowcore.domain.model import RUN_ID
from flowcore.domain.parse import size_of

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


def _of_error(whose: str, old: object, new: object) -> Iterator[str]:
    if isinstance(new, Mapping) and new != old:
        if new.get("code") not in REGISTRY:
            yield f"{whose} has the code {new.get('code')!r:.60}, which is not in the registry"
        elif new.get("code") == "INTERNAL":
            yield f"{whose} is INTERNAL: {new.get('message')}"


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
