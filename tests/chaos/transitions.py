"""What one write may make of a run: the tables of spec/state-machine.md, written down a second time.

The kernel has its own; this is the auditor's, and nothing is shared. A write is judged by the document before and after
it, whoever its author was. Each function yields sentences about what is wrong; silence is good news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

Document = Mapping[str, Any]

FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")
NOT_BEGUN = ("PENDING", "READY")

STEP_MOVES = {
    ("PENDING", "READY"),
    ("PENDING", "SKIPPED"),
    ("PENDING", "CANCELLED"),
    ("READY", "RUNNING"),
    ("READY", "PENDING"),
    ("READY", "FAILED"),
    ("READY", "SKIPPED"),
    ("READY", "CANCELLED"),
    ("RUNNING", "SUCCEEDED"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "READY"),
    ("FAILED", "PENDING"),
    ("FAILED", "READY"),
}
STEP_MOVES_BY_HAND = STEP_MOVES | {("FAILED", "SKIPPED"), ("SKIPPED", "PENDING"), ("SKIPPED", "READY")}
RUN_MOVES = {
    ("PENDING", "RUNNING"),
    ("PENDING", "SUCCEEDED"),
    ("PENDING", "FAILED"),
    ("PENDING", "CANCELLED"),
    ("RUNNING", "SUCCEEDED"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "CANCELLED"),
}
# An operator's wish and what the plan makes of it are one patch: a run may be reopened and conclude at once.
RUN_MOVES_BY_HAND = RUN_MOVES | {("FAILED", "RUNNING"), ("SUCCEEDED", "RUNNING"), ("FAILED", "SUCCEEDED")}
# In a run that stays finished work that has begun may end; what waits is closed once, when the run is.
AFTER_THE_END = {("RUNNING", "SUCCEEDED"), ("RUNNING", "FAILED")}
CLOSING = {(waiting, closed) for waiting in NOT_BEGUN for closed in ("SKIPPED", "CANCELLED")}

# What may change in a step that stays in its state, and what may change in a step and in a run at all.
WITHOUT_A_MOVE = {
    "READY": {"readyAt", "nudges"},
    "RUNNING": {"startedAt"},
    "SUCCEEDED": {"outputs"},
    "SKIPPED": {"error", "finishedAt"},
}
OF_A_STEP = {
    "status", "attempt", "failures", "leaseLosses", "nudges", "lease", "error", "readyAt", "notBefore", "startedAt",
    "finishedAt", "attempts", "outputs",
}  # fmt: skip
OF_A_RUN = {"status", "cancelRequested", "error", "finishedAt", "wakeAt", "updatedAt", "steps"}

# What a model would say again, or must not be asked again: such a step is never tried again, by nobody.
NEVER_AGAIN = ("INVALID_STRUCTURED_OUTPUT", "LLM_SAFETY_BLOCK")
MAX_NUDGES = 5
MAX_FAILURES = 3
LEASE_LOSSES = {"LLM_REPORT": 1}
MOST_LEASE_LOSSES = 3
READY_PATIENCE = timedelta(seconds=300)


def moment(value: Any) -> datetime | None:
    """Times are text in documents; only `wakeAt` is a Timestamp, which is text again in a platform's history."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def steps_of(document: Document) -> Mapping[str, Document]:
    steps: Mapping[str, Document] = document["steps"]
    return steps


def changed_steps(before: Document, after: Document) -> Iterator[tuple[str, Document, Document]]:
    old, new = steps_of(before), steps_of(after)
    return ((name, old[name], new[name]) for name in new if name in old and old[name] != new[name])


def of_write(before: Document, after: Document, *, by_hand: bool = False) -> Iterator[str]:
    """`by_hand`: an operator may be its author."""
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    for key in sorted(changed - OF_A_RUN):
        yield f"{key} of the run was changed"
    if steps_of(before).keys() != steps_of(after).keys():
        yield "steps came or went"
    move = (before["status"], after["status"])
    if move[0] != move[1] and move not in (RUN_MOVES_BY_HAND if by_hand else RUN_MOVES):
        yield f"the run went from {move[0]} to {move[1]}"
    if by_hand:
        allowed = STEP_MOVES_BY_HAND
    elif move[0] not in FINISHED:
        allowed = STEP_MOVES
    else:
        settled = "finishedAt" in before  # a status set by hand has none yet
        allowed = AFTER_THE_END if settled else AFTER_THE_END | CLOSING
        if changed & ({"error", "finishedAt", "cancelRequested"} if settled else {"error"}):
            yield f"a {move[0]} run was changed"
    for name, old, new in changed_steps(before, after):
        for law in _of_step(before, old, new, allowed, by_hand=by_hand):
            yield f"{name}: {law}"


def _of_step(
    run: Document, old: Document, new: Document, allowed: set[tuple[str, str]], *, by_hand: bool
) -> Iterator[str]:
    changed = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    for key in sorted(changed - OF_A_STEP):
        yield f"{key} was changed"
    move = (old["status"], new["status"])
    if move[0] == move[1]:
        for key in sorted(changed - WITHOUT_A_MOVE.get(move[0], set())):
            yield f"{key} was changed while {move[0]}"
        if move[0] == "READY" and "nudges" in changed and "readyAt" not in changed:
            yield "offered again, but not so that anybody would notice"
        if move[0] == "READY" and _count(new, "nudges") not in (0, _count(old, "nudges") + 1):
            yield f"offered again, and nudges went from {_count(old, 'nudges')} to {_count(new, 'nudges')}"
        if move[0] == "SUCCEEDED" and old["outputs"].get("gcs_uri"):
            yield "its result was replaced"
    elif move not in allowed:
        yield f"went from {move[0]} to {move[1]}" + (f" in a {run['status']} run" if move in STEP_MOVES else "")
    if move == ("READY", "RUNNING") and (run["status"] != "RUNNING" or run.get("cancelRequested")):
        yield "was claimed in a run that is cancelled or not RUNNING"
    if move[1] == "READY" and move[0] != "READY" and run.get("cancelRequested"):
        yield "was offered after a cancel"
    if move == ("READY", "PENDING") and all(steps_of(run)[name]["status"] == "SUCCEEDED" for name in _needs(old)):
        yield "was taken back although nothing it needs was lost"
    yield from _of_counters(move, old, new, by_hand=by_hand)


def _of_counters(move: tuple[str, str], old: Document, new: Document, *, by_hand: bool) -> Iterator[str]:
    """Each counter moves with its own move, by one, and with nothing else; a retry by hand sets two of them back."""
    code = new.get("error", {}).get("code")
    lost = move[0] == "RUNNING" and (move[1] == "READY" or code == "LEASE_EXPIRED")
    again = move[0] == "FAILED" and move[1] in NOT_BEGUN
    expected = {
        "attempt": int(move == ("READY", "RUNNING")),
        "failures": int(move == ("RUNNING", "FAILED") and not lost),
        "leaseLosses": int(lost),
    }
    for key, by in expected.items():
        grown = _count(new, key) - _count(old, key)
        set_back = by_hand and again and key != "attempt" and not _count(new, key)
        if grown != by and not set_back:
            yield f"went from {move[0]} to {move[1]}, and {key} by {grown}"
    before = old.get("error", {}).get("code")
    if again and (before in NEVER_AGAIN or not (by_hand or _retries_left(old))):
        yield f"was tried again after {before} and {_count(old, 'failures')} failures"
    losses = _count(new, "leaseLosses")
    if lost and move[1] == "READY" and losses > LEASE_LOSSES.get(old["stepType"], MOST_LEASE_LOSSES):
        yield f"was offered again after {losses} lost leases"
    if move == ("READY", "FAILED") and (code != "NO_WORKER" or _count(old, "nudges") != MAX_NUDGES):
        yield f"was given up with {code} after {_count(old, 'nudges')} nudges"


def of_document(document: Document) -> Iterator[str]:
    steps = steps_of(document)
    for name, step in steps.items():
        for law in _fields_fit(step):
            yield f"{name}: {law}"
        if step["status"] in ("READY", "RUNNING", "SUCCEEDED"):
            for needed in _needs(step):
                if steps[needed]["status"] != "SUCCEEDED":
                    yield f"{name}: is {step['status']} although {needed} is {steps[needed]['status']}"
    yield from _alarm_clock(document)
    if document["status"] in FINISHED and "finishedAt" in document:
        for name, step in steps.items():
            if step["status"] in NOT_BEGUN:
                yield f"{name}: waits in a {document['status']} run"
    if document["status"] == "SUCCEEDED":
        for name, step in steps.items():
            if step["status"] not in ("SUCCEEDED", "SKIPPED") and not (
                step.get("optional") and step["status"] == "FAILED"
            ):
                yield f"{name}: is {step['status']} in a run that SUCCEEDED"


def _fields_fit(step: Document) -> Iterator[str]:
    status = step["status"]
    if ("lease" in step) != (status == "RUNNING"):
        yield f"is {status} and {'has a' if 'lease' in step else 'has no'} lease"
    if "error" in step and status not in ("FAILED", "SKIPPED"):
        yield f"is {status} and has an error"
    if status == "FAILED" and not step.get("error", {}).get("code"):
        yield "is FAILED and does not say why"
    if (status == "SUCCEEDED") != bool(step.get("outputs", {}).get("gcs_uri")):
        yield f"is {status} and {'has no' if status == 'SUCCEEDED' else 'has an'} outputs.gcs_uri"
    if "notBefore" in step and status != "PENDING":
        yield f"is {status} and rests"


def _alarm_clock(document: Document) -> Iterator[str]:
    steps = steps_of(document).values()
    wake = moment(document.get("wakeAt"))
    moments = [moment(step["lease"]["expiresAt"]) for step in steps if "lease" in step]
    if document["status"] in FINISHED:
        if wake is not None and not moments and "finishedAt" in document:
            yield "a finished run in which nothing runs has wakeAt"
    elif document["status"] == "RUNNING":
        moments += [_later(step["readyAt"], READY_PATIENCE) for step in steps if step["status"] == "READY"]
        moments += [moment(step["notBefore"]) for step in steps if "notBefore" in step]
        if wake is None:
            yield "a RUNNING run has no wakeAt"
    due = [at for at in moments if at is not None]
    if due and (wake is None or wake > min(due)):
        yield f"wakeAt is {wake}, and something is due at {min(due)}"


def _later(text: Any, by: timedelta) -> datetime | None:
    at = moment(text)
    return at + by if at else None


def _retries_left(step: Document) -> bool:
    most = step.get("retry", {}).get("maxAttempts", MAX_FAILURES)
    return bool(step.get("error", {}).get("retryable")) and _count(step, "failures") < most


def _count(step: Document, key: str) -> int:
    return int(step.get(key, 0))


def _needs(step: Document) -> list[str]:
    return step.get("dependsOn") or []
