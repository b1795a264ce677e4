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

# What the orchestrator may make of a step, and what a worker may.
ORCHESTRATOR_MOVES = {
    ("PENDING", "READY"),
    ("PENDING", "SKIPPED"),
    ("PENDING", "CANCELLED"),
    ("READY", "CANCELLED"),
    ("READY", "SKIPPED"),
    ("READY", "FAILED"),
    ("RUNNING", "READY"),
    ("RUNNING", "FAILED"),
    ("FAILED", "PENDING"),
    ("FAILED", "READY"),
}
WORKER_MOVES = {("READY", "RUNNING"), ("RUNNING", "SUCCEEDED"), ("RUNNING", "FAILED")}
OPERATOR_MOVES = {("FAILED", "PENDING"), ("FAILED", "READY"), ("SKIPPED", "PENDING"), ("SKIPPED", "READY")}
AFTER_THE_END = {("RUNNING", "SUCCEEDED"), ("RUNNING", "FAILED")}


def of_document(document: Document) -> Iterator[str]:
    steps: dict[str, Document] = document["steps"]
    for name, step in steps.items():
        yield from _fields_fit_the_state(name, step)
        if step["status"] in ("READY", "RUNNING"):
            waiting = [d for d in step.get("dependsOn", []) if steps[d]["status"] != "SUCCEEDED"]
            if waiting:
                yield f"{name} is {step['status']} although {waiting} did not succeed"
    yield from _alarm_clock(document, steps)
    if document["status"] in FINISHED:
        for name, step in steps.items():
            if step["status"] in ("PENDING", "READY"):
                yield f"{name} waits in a {document['status']} run"
    if document["status"] == "SUCCEEDED":
        for name, step in steps.items():
            fine = step["status"] in ("SUCCEEDED", "SKIPPED") or (step.get("optional") and step["status"] == "FAILED")
            if not fine:
                yield f"the run is SUCCEEDED although {name} is {step['status']}"


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
    if "notBefore" in step and status != "PENDING":
        yield f"{name} is {status} and has notBefore"


def _alarm_clock(document: Document, steps: Mapping[str, Document]) -> Iterator[str]:
    wake = document.get("wakeAt")
    leases = [datetime.fromisoformat(s["lease"]["expiresAt"]) for s in steps.values() if "lease" in s]
    if document["status"] in FINISHED:
        if wake is not None and not leases:
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
    if before["status"] in FINISHED and author != "operator":
        moves = moves & AFTER_THE_END
        if after["status"] != before["status"]:
            yield f"{author} turned a {before['status']} run into {after['status']}"
    if worker and after["status"] != before["status"]:
        yield f"worker {author} changed the run's status"
    changed = [name for name in after["steps"] if after["steps"][name] != before["steps"][name]]
    if worker and len(changed) > 1:
        yield f"worker {author} wrote to {changed}"
    for name in changed:
        old, new = before["steps"][name], after["steps"][name]
        move = (old["status"], new["status"])
        if move[0] != move[1] and move not in moves:
            yield f"{author} moved {name} from {move[0]} to {move[1]}"
        if worker and move == ("RUNNING", "FAILED") and name not in holds:
            yield f"{author} recorded {name} as FAILED without holding it"
        if move == ("READY", "RUNNING") and (before.get("cancelRequested") or before["status"] != "RUNNING"):
            yield f"{author} claimed {name} in a run that is cancelled or not RUNNING"
        yield from _of_step_write(author, worker, name, old, new)


def _of_step_write(author: str, worker: bool, name: str, old: Document, new: Document) -> Iterator[str]:
    move = (old["status"], new["status"])
    if worker and old["stepType"] != author:
        yield f"worker {author} wrote to {name}, a {old['stepType']}"
    claimed = 1 if move == ("READY", "RUNNING") else 0
    if new.get("attempt", 0) != old.get("attempt", 0) + claimed:
        yield f"the attempt of {name} went from {old.get('attempt', 0)} to {new.get('attempt', 0)}"
    if move[0] == move[1] == "SUCCEEDED":
        yield f"{author} wrote to {name} after it had SUCCEEDED"


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
