"""What must hold, whatever happens. Read from the raw document and written without the kernel's own judgement.

`of_document` looks at one document, `of_write` at one write and its author, `of_call` at one call of an invocation.
Each yields sentences about what is wrong; silence is good news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.explorer.programs import Node

FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")
Document = Mapping[str, Any]

# What the orchestrator may make of a step, and what a worker may. A step that is not named may not change at all.
ORCHESTRATOR_MOVES = {
    ("PENDING", "READY"),
    ("PENDING", "SKIPPED"),
    ("PENDING", "CANCELLED"),
    ("READY", "READY"),
    ("READY", "CANCELLED"),
    ("READY", "SKIPPED"),
    ("READY", "FAILED"),
    ("RUNNING", "READY"),
    ("RUNNING", "FAILED"),
    ("FAILED", "PENDING"),
    ("FAILED", "READY"),
}
WORKER_MOVES = {("READY", "RUNNING"), ("RUNNING", "SUCCEEDED"), ("RUNNING", "FAILED")}
OPERATOR_MOVES = {
    ("FAILED", "PENDING"),
    ("FAILED", "READY"),
    ("FAILED", "SKIPPED"),
    ("SKIPPED", "PENDING"),
    ("SKIPPED", "READY"),
}
AFTER_THE_END = {("RUNNING", "SUCCEEDED"), ("RUNNING", "FAILED")}
CLOSING = {("PENDING", "CANCELLED"), ("READY", "CANCELLED"), ("PENDING", "SKIPPED"), ("READY", "SKIPPED")}

MAX_NUDGES = 5
MAX_ATTEMPTS = 3
LEASE_LOSSES_ALLOWED = {"LLM_REPORT": 1}


def of_document(document: Document) -> Iterator[str]:
    steps: dict[str, Document] = document["steps"]
    for name, step in steps.items():
        yield from _fields_fit_the_state(name, step)
        if step["status"] in ("READY", "RUNNING"):
            waiting = [d for d in step.get("dependsOn", []) if steps[d]["status"] != "SUCCEEDED"]
            if waiting:
                yield f"{name} is {step['status']} although {waiting} did not succeed"
    yield from _alarm_clock(document, steps)
    if settled(document):
        for name, step in steps.items():
            if step["status"] in ("PENDING", "READY"):
                yield f"{name} waits in a {document['status']} run"
    if document["status"] == "SUCCEEDED":
        for name, step in steps.items():
            fine = step["status"] in ("SUCCEEDED", "SKIPPED") or (step.get("optional") and step["status"] == "FAILED")
            if not fine:
                yield f"the run is SUCCEEDED although {name} is {step['status']}"


def settled(document: Document) -> bool:
    """Finished, and seen to by the orchestrator: a status set by hand has no `finishedAt` yet."""
    return document["status"] in FINISHED and "finishedAt" in document


def _fields_fit_the_state(name: str, step: Document) -> Iterator[str]:
    status = step["status"]
    if ("lease" in step) != (status == "RUNNING"):
        yield f"{name} is {status} and {'has' if 'lease' in step else 'has no'} lease"
    if status == "FAILED" and not step.get("error", {}).get("code"):
        yield f"{name} is FAILED without an error"
    if "error" in step and status not in ("FAILED", "SKIPPED"):
        yield f"{name} is {status} and has an error"
    if status == "SUCCEEDED" and not step["outputs"].get("gcs_uri"):
        yield f"{name} is SUCCEEDED without outputs.gcs_uri"
    if status != "SUCCEEDED" and step["outputs"].get("gcs_uri"):
        yield f"{name} is {status} and has outputs.gcs_uri"
    if status == "SKIPPED" and step.get("error", {}).get("code") is None:
        yield f"{name} is SKIPPED and does not say why"
    if step.get("attempt", 0) > _claims_allowed(step):
        yield f"{name} was claimed {step['attempt']} times"
    if "notBefore" in step and status != "PENDING":
        yield f"{name} is {status} and has notBefore"


def _claims_allowed(step: Document) -> int:
    """Failures and lost leases together; an operator's retry, of which a scenario has one at most, starts anew."""
    losses = LEASE_LOSSES_ALLOWED.get(step["stepType"], 3)
    return 2 * (int(step.get("retry", {}).get("maxAttempts", MAX_ATTEMPTS)) + losses)


def _alarm_clock(document: Document, steps: Mapping[str, Document]) -> Iterator[str]:
    wake = document.get("wakeAt")
    leases = [datetime.fromisoformat(s["lease"]["expiresAt"]) for s in steps.values() if "lease" in s]
    if document["status"] in FINISHED:
        if wake is not None and not leases and settled(document):
            yield "a finished run in which nothing runs has wakeAt"
        if leases and (wake is None or wake > min(leases)):
            yield "a finished run with a RUNNING step does not wake when its lease ends"
        return
    if document["status"] == "PENDING":
        return
    moments = leases + [
        datetime.fromisoformat(s["readyAt"]) + timedelta(seconds=300) for s in steps.values() if s["status"] == "READY"
    ]
    moments += [datetime.fromisoformat(s["notBefore"]) for s in steps.values() if "notBefore" in s]
    if wake is None:
        yield "a RUNNING run has no wakeAt"
    elif moments and wake > min(moments):
        yield f"wakeAt is {wake}, later than what happens at {min(moments)}"


def of_write(author: str, holds: tuple[str, ...], before: Document, after: Document) -> Iterator[str]:
    worker = author not in ("advance", "sweep", "operator")
    moves = WORKER_MOVES if worker else ORCHESTRATOR_MOVES
    if author == "operator":
        moves = moves | OPERATOR_MOVES
    elif before["status"] in FINISHED:
        moves = moves & (AFTER_THE_END if settled(before) else AFTER_THE_END | CLOSING)
        yield from _of_finished_run(author, before, after)
    if worker and after["status"] != before["status"]:
        yield f"worker {author} changed the run's status"
    changed = [name for name in after["steps"] if after["steps"][name] != before["steps"][name]]
    if worker and len(changed) > 1:
        yield f"worker {author} wrote to {changed}"
    for name in changed:
        old, new = before["steps"][name], after["steps"][name]
        move = (old["status"], new["status"])
        if move not in moves:
            yield f"{author} moved {name} from {move[0]} to {move[1]}"
        if worker and move == ("RUNNING", "FAILED") and name not in holds:
            yield f"{author} recorded {name} as FAILED without holding it"
        if move == ("READY", "RUNNING") and (before.get("cancelRequested") or before["status"] != "RUNNING"):
            yield f"{author} claimed {name} in a run that is cancelled or not RUNNING"
        if worker and old["stepType"] != author:
            yield f"worker {author} wrote to {name}, a {old['stepType']}"
        yield from _of_counters(author, worker, name, old, new)


def _of_finished_run(author: str, before: Document, after: Document) -> Iterator[str]:
    """Whatever happens to its steps, the run itself stays as it is; only `wakeAt` goes with its last RUNNING step."""
    for key in {*before, *after} - {"steps", "wakeAt"}:
        if before.get(key) != after.get(key) and (key != "finishedAt" or settled(before)):
            yield f"{author} changed {key} of a {before['status']} run"


def _of_counters(author: str, worker: bool, name: str, old: Document, new: Document) -> Iterator[str]:
    """Each counter moves with its own move, by one, and with nothing else; an operator may set them back."""
    move = (old["status"], new["status"])

    def grew(key: str) -> int:
        return int(new.get(key, 0)) - int(old.get(key, 0))

    lost = not worker and move[0] == "RUNNING"
    reset = author == "operator" and move[0] == "FAILED" and move[1] != "SKIPPED"
    expected = {
        "attempt": int(move == ("READY", "RUNNING")),
        "failures": -int(old.get("failures", 0)) if reset else int(worker and move == ("RUNNING", "FAILED")),
        "leaseLosses": -int(old.get("leaseLosses", 0)) if reset else int(lost),
    }
    for key, by in expected.items():
        if grew(key) != by:
            yield f"{author} moved {name} from {move[0]} to {move[1]}, and {key} by {grew(key)}"
    counted = new.get("nudges", 0) in (0, old.get("nudges", 0) + 1)  # 0: a worker of its type was seen
    if move == ("READY", "READY") and (not counted or old.get("readyAt") == new.get("readyAt")):
        yield f"{author} offered {name} again, but not so that anybody would notice"
    if move == ("READY", "FAILED") and old.get("nudges") != MAX_NUDGES:
        yield f"{name} was given up after {old.get('nudges', 0)} nudges"
    again = move in {("FAILED", "PENDING"), ("FAILED", "READY")} and author != "operator"
    used_up = old.get("failures", 0) >= old.get("retry", {}).get("maxAttempts", MAX_ATTEMPTS)
    if again and (used_up or not old["error"]["retryable"]):
        yield f"{author} tried {name} again after {old['error']['code']} and {old.get('failures', 0)} failures"
    allowed = LEASE_LOSSES_ALLOWED.get(old["stepType"], 3)
    if lost and move[1] == "READY" and new.get("leaseLosses", 0) > allowed:
        yield f"{name} lost {new['leaseLosses']} leases and was offered again"


def of_call(node: Node) -> Iterator[str]:
    call = node.call
    if call is None:
        return
    if call.kind == "update" and not call.conditional:
        yield f"{node.program} writes without the update time of what it decided on"
    if call.kind == "pay":
        if node.claimed != call.name:
            yield f"{node.program} pays for {call.name} without having claimed it"
        if not node.looked:
            yield f"{node.program} pays for {call.name} without having looked for its object"
        if node.paid:
            yield f"{node.program} pays twice in one claim"
    if call.kind == "create" and not node.claimed:
        yield f"{node.program} creates {call.name} without a claim"
