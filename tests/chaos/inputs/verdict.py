"""What is promised of any input whatever, looked at from outside: the run, what was stored, and what was logged."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.cloud.firestore import DocumentReference

from flowcore.domain.errors import REGISTRY
from flowcore.domain.model import RUN_ID, Defect, Snapshot
from flowcore.domain.parse import parse_run, size_of
from flowcore.testing.world import T0
from tests.chaos.inputs.twin import travelled

TERMINAL: Final = ("SUCCEEDED", "FAILED", "CANCELLED")
LARGEST_EVENT: Final = 500_000
ALMOST_FULL: Final = 950_000  # bytes; whatever is written to a smaller document, Firestore has room for it
_ENDED: Final = (*TERMINAL, "SKIPPED")
# Said by the engine when something happened that nobody foresaw.
CRASHES: Final = (
    "step_crashed",
    "claim_failed",
    "finalize_failed",
    "sweep_failed",
    "start_failed",
    "invocation_failed",
)
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one case, in a word or two each, and what of it should not have been."""

    endings: tuple[str, ...]
    broken: tuple[str, ...]


def of_run(run_id: str, before: Fields, after: Fields) -> Iterator[str]:
    """`before` is as the stranger wrote it: what was odd then may stay odd."""
    if _passed_over(before, after):
        # Firestore cannot be asked for what is missing, so only its event could have told of it. Its event was no run's
        # (the id), or none could be sent (its size).
        if RUN_ID.fullmatch(run_id) and size_of(before) < LARGEST_EVENT:
            yield "a document without a status was passed over"
        return
    if after.get("status") not in TERMINAL:
        yield f"the run is stuck: its status is {after.get('status')!r:.60}"
    yield from _of_error("the run", before.get("error"), after.get("error"))
    for step_id, old, new in _steps(before, after):
        yield from _of_error(f"step {step_id!r:.40}", old.get("error"), new.get("error"))
        if _failed_since(old, new) and _code(new.get("error")) not in REGISTRY:
            yield f"step {step_id!r:.40} is FAILED without a code of the registry"
    if before.get("status") not in TERMINAL and not _without_words(before, after):
        yield from _of_defect(run_id, before, after)
        yield from _of_end(before, after)


def ending(before: Fields, after: Fields) -> str:
    """What came of a document, in a word or two."""
    if _passed_over(before, after):
        return "ignored"
    if before.get("status") in TERMINAL:
        return "was at its end before"
    if _without_words(before, after):
        return "FAILED without words"
    failed = (_code(new.get("error")) for _, _, new in _steps(before, after) if new.get("status") == "FAILED")
    codes = [*_new_codes(before, after), *sorted(code for code in failed if code and code in REGISTRY)]
    return " ".join([f"{after.get('status')!s:.20}", *codes[:1]])


def _passed_over(before: Fields, after: Fields) -> bool:
    return "status" not in before and before.keys() == after.keys()  # values need not equal themselves, as NaN does not


def _without_words(before: Fields, after: Fields) -> bool:
    """Whether there was no room for any."""
    silent = after.get("status") == "FAILED" and not after.keys() & {"error", "finishedAt"}
    return silent and size_of(before) > ALMOST_FULL


# --- of the run ---


def _of_defect(run_id: str, before: Fields, after: Fields) -> Iterator[str]:
    """A document that cannot be read is called so, with the path of one of its defects; and no other one is."""
    told = after.get("status") == "FAILED" and "FLOW_RUN_INVALID" in _new_codes(before, after)
    if told and not after["error"].get("details", {}).get("path"):
        yield f"the run is invalid, and does not say where: {after['error']!r:.100}"
    if told and not any(_defects(run_id, before)):
        yield f"a sound document is called invalid: {after['error'].get('message')!r:.100}"
    if not told and all(_defects(run_id, before)):
        path = next(defect.path for defect in _defects(run_id, before) if defect)
        code = _code(after.get("error"))
        yield f"a defect at {path!r:.60} ended {after.get('status')!r:.60} with {code!r:.60}"


def _defects(run_id: str, before: Fields) -> Iterator[Defect | None]:
    """As the document is read, and as it travels in events: there a place on the globe is a map, a reference a text."""
    yield parse_run(Snapshot(run_id, before, T0)).defect
    told = travelled(run_id, before)
    if told:
        yield parse_run(told).defect


def _of_end(before: Fields, after: Fields) -> Iterator[str]:
    """Steps end with their run, and a run fails for a reason. The steps of a broken document are not ours to close."""
    if _code(after.get("error")) != "FLOW_RUN_INVALID":
        for step_id, _, new in _steps(before, after):
            if new.get("status") not in _ENDED:
                yield f"step {step_id!r:.40} is stuck: {new.get('status')!r:.60}"
    # Of a step that a stranger has made FAILED there may be no reason; one that failed since is judged by itself.
    failed = any(new.get("status") == "FAILED" for _, _, new in _steps(before, after))
    if after.get("status") == "FAILED" and not failed and not REGISTRY.keys() & set(_new_codes(before, after)):
        yield "the run is FAILED, and neither it nor a step says why"


# --- of its steps and errors ---


def _steps(before: Fields, after: Fields) -> Iterator[tuple[str, Fields, Fields]]:
    """Each step that is a map, with what it was before."""
    old, new = before.get("steps"), after.get("steps")
    for step_id, step in new.items() if isinstance(new, Mapping) else ():
        if isinstance(step, Mapping):
            was = old.get(step_id) if isinstance(old, Mapping) else None
            yield step_id, was if isinstance(was, Mapping) else {}, step


def _failed_since(old: Fields, new: Fields) -> bool:
    again = not _same(old.get("finishedAt"), new.get("finishedAt"))
    return new.get("status") == "FAILED" and (old.get("status") != "FAILED" or again)


def _of_error(whose: str, old: object, new: object) -> Iterator[str]:
    if isinstance(new, Mapping) and not _same(old, new):
        if new.get("code") not in REGISTRY:
            yield f"{whose} has the code {new.get('code')!r:.60}, which is not in the registry"
        elif new.get("code") == "INTERNAL":
            yield f"{whose} is INTERNAL: {new.get('message')}"


def _new_codes(before: Fields, after: Fields) -> list[str]:
    """The code of the run's own error, unless a stranger wrote it."""
    code = _code(after.get("error"))
    return [code] if code and not _same(before.get("error"), after.get("error")) else []


def _code(error: object) -> str | None:
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, str) else None


def _same(old: object, new: object) -> bool:
    """Whether it is what a stranger wrote, as Firestore hands it back: with NaN, and references of another client."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, DocumentReference) and isinstance(new, DocumentReference):
        return bool(old.path == new.path)
    return old == new or (old != old and new != new)  # noqa: PLR0124


# --- of everything around it ---


def of_objects(run_id: str, names: Iterable[str]) -> Iterator[str]:
    homes = (f"runs/{run_id}/", f"charts/{run_id}/")
    for name in names:
        if not name.startswith(homes) or not RUN_ID.fullmatch(run_id) or ".." in name.split("/"):
            yield f"an object outside of the run: {name!r:.100}"


def of_writes(asked_for: Iterable[str], allowed: Iterable[str]) -> Iterator[str]:
    """Also of what Firestore has not let happen: whoever asked meant it."""
    for run_id in sorted({*asked_for} - {*allowed}):
        yield f"a write outside of the run: {run_id!r:.80}"


def of_log(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    for event, fields in lines:
        if event in CRASHES:
            exc = fields.get("exc_info")
            yield f"{event}: {reached(exc) if isinstance(exc, BaseException) else str(exc)[:300]}"


def reached(exc: BaseException) -> str:
    """What was raised, and where."""
    place = traceback.extract_tb(exc.__traceback__)[-1]
    return f"{type(exc).__name__} at {place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
