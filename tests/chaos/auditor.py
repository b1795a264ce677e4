"""The auditor: judges a whole history of writes, objects and calls, and knows nothing of flowcore.

It is told what happened, record by record (those of emulator/history.py, or equal ones from the twins), and asked for
its verdict at the end. What it holds a system to:

- a step has one claimant at a time, a token claims one step, and a lease is not taken away before it ends;
- every write is a legal move (`transitions`), and nothing but runs and the known counters is written;
- an object is created once, under a name that follows from run and step, and belongs to a step that exists; an image
  also belongs to a manifest, once the step has succeeded;
- SUCCEEDED points at its object, which was there first;
- a paid call belongs to a claim that looked for the object in vain, one for each claim and one more to repair what was
  no good;
- every run ends, if whoever asks says that it should have.

A call on the wire does not say whose it is. The twins' calls do (`token`, `run`, `step`), and are judged one by one;
the platform's are counted against what all claims together were entitled to.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from tests.chaos.transitions import FINISHED, Document, changed_steps, moment, of_document, of_write, steps_of

RUNS = "flow_runs"
COUNTERS = ("chart_img_accounts_usage",)
ASKING = ("generateContent", "streamGenerateContent")
PAID_TYPE = "LLM_REPORT"

_EVIDENCE = re.compile(r"manifest\.attempt-(\d+)\.json")
_AT_WORK = ("PENDING", "READY", "RUNNING")

Read = Callable[[str], bytes]


class Recorded(Protocol):
    """What is asked of a record. `time` is in seconds since 1970; `detail` differs by kind."""

    @property
    def time(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def service(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def detail(self) -> Mapping[str, Any]: ...


class Claim(NamedTuple):
    run: str
    step: str
    token: str


@dataclass(slots=True)
class Auditor:
    """`skew`: how far clocks may differ; None when the clock of whoever ends leases was moved on purpose."""

    skew: timedelta | None = timedelta(seconds=60)
    operators: bool = False  # whether any write may be an operator's; a twin's write says so itself
    broken: list[str] = field(default_factory=list)
    runs: dict[str, Document] = field(default_factory=dict)
    objects: dict[str, float] = field(default_factory=dict)  # names, without their bucket
    claims: dict[str, Claim] = field(default_factory=dict)  # by token
    taken_away: set[str] = field(default_factory=set)  # tokens whose claim somebody else has ended
    claims_of: Counter[tuple[str, str]] = field(default_factory=Counter)  # by run and step
    asked_by: Counter[str] = field(default_factory=Counter)  # paid calls, by token
    asked_by_nobody: int = 0
    spoiled: int = 0  # answers that a fault has made unfit: each of them may be repaired
    _in_vain: dict[str, bool] = field(default_factory=dict)  # by token: whether its last look found nothing
    _looks_in_vain: Counter[str] = field(default_factory=Counter)  # by object

    def hear(self, records: Iterable[Recorded]) -> Auditor:
        for record in records:
            match record.kind:
                case "write":
                    self._write(record)
                case "object":
                    self._object(record)
                case "call" if record.service == "gemini" and record.method in ASKING:
                    self._paid(record)
                case "answer" if record.detail.get("shape"):
                    self.spoiled += 1
                case "call" if record.service == "storage" and record.method == "objects.get":
                    self._look(record)
        return self

    def verdict(self, *, over: bool = True, read: Read | None = None) -> list[str]:
        """What was broken, and what is wrong at the end. `read` gives an object's content: manifests name images."""
        found = list(self.broken)
        for run_id, document in self.runs.items():
            found += (f"{run_id}: {law}" for law in self._at_the_end(run_id, document, over=over))
        for name in self.objects:
            reason = self._orphan(name, read)
            if reason:
                found.append(f"{name}: {reason}")
        return found

    # --- writes ----------------------------------------------------------------------------------------------

    def _write(self, record: Recorded) -> None:
        collection, _, run_id = record.resource.partition("/")
        if collection != RUNS or not run_id or "/" in run_id:
            if collection not in COUNTERS:
                self._say(record.resource, "is none of the documents that may be written")
            return
        before, after = record.detail["before"], record.detail["after"]
        if after is None:
            self._say(run_id, "the run was deleted")
            self.runs.pop(run_id, None)
            return
        self.runs[run_id] = after
        if before is not None:
            for law in of_write(before, after, by_hand=record.detail.get("by_hand", self.operators)):
                self._say(run_id, law)
            for name, old, new in changed_steps(before, after):
                self._moved(record, run_id, name, old, new)
        for law in of_document(after):
            self._say(run_id, law)

    def _moved(self, record: Recorded, run_id: str, name: str, old: Document, new: Document) -> None:
        move, where = (old["status"], new["status"]), f"{run_id}: {name}"
        held, holds = old.get("lease", {}).get("token"), new.get("lease", {}).get("token")
        if holds and holds != held:
            if held:
                self._say(where, f"was taken from {held} by {holds}")
            # A claim whose reply was lost may be over by another's hand before its author learns of it: then the author
            # has nothing, and takes what is there. Who has ended its claim itself, or still holds it, takes no other.
            another = holds in self.claims and self.claims[holds] != Claim(run_id, name, holds)
            if another and holds not in self.taken_away:
                self._say(where, f"was claimed with the token of {self.claims[holds]}")
            self.claims[holds] = Claim(run_id, name, holds)
            self.claims_of[run_id, name] += 1
            if new.get("attempt") != self.claims_of[run_id, name]:
                self._say(where, f"claim {self.claims_of[run_id, name]} is called attempt {new.get('attempt')}")
        author = record.detail.get("token")
        if held and not holds and (move[1] == "READY" or author not in (None, held) or _adopted(new)):
            self.taken_away.add(held)
        if author and move == ("RUNNING", "FAILED") and author != held:
            self._say(where, f"was recorded as FAILED by {author}, and held by {held}")
        if held and self.skew is not None and (move == ("RUNNING", "READY") or _says(new, "LEASE_EXPIRED")):
            ends, now = moment(old["lease"]["expiresAt"]), datetime.fromtimestamp(record.time, UTC)
            if ends and ends > now + self.skew:
                self._say(where, f"lost its lease at {now}, but held it until {ends}")
        if move[1] == "SUCCEEDED" and name_of(run_id, name, new) not in self.objects:
            self._say(where, "is SUCCEEDED, but its object does not exist")

    # --- objects ---------------------------------------------------------------------------------------------

    def _object(self, record: Recorded) -> None:
        name = record.resource.partition("/")[2]
        if record.method == "objects.delete":
            self._say(name, "was deleted")
        elif name not in self.objects:
            self.objects[name] = record.time
        elif record.method != "objects.patch":
            self._say(name, f"was written a second time ({record.method})")

    def _orphan(self, name: str, read: Read | None) -> str | None:
        """Why an object belongs to nothing; None when it does."""
        owner = self._owner(name)
        if owner is None:
            return "belongs to no step of any run"
        step_id, step = owner
        file = name.rpartition("/")[2]
        evidence = _EVIDENCE.fullmatch(file)
        if evidence and not 1 <= int(evidence[1]) <= int(step.get("attempt", 0)):
            return f"is evidence of an attempt that {step_id} never made"
        if file.endswith(".png") and step["status"] == "SUCCEEDED" and read:
            folder = name.removesuffix(file)
            manifests = [other for other in self.objects if other.startswith(folder + "manifest.")]
            if not any(file.removesuffix(".png") in _asked_for(read(manifest)) for manifest in manifests):
                return "is an image that no manifest knows of"
        return None

    def _owner(self, name: str) -> tuple[str, Document] | None:
        root, run_id, *rest = (*name.split("/"), "", "")
        steps = steps_of(self.runs[run_id]) if run_id in self.runs else {}
        match root, rest[:-2]:
            case ("charts", [step_id, _]) | ("runs", ["steps", step_id, _]) if step_id in steps:
                return step_id, steps[step_id]
            case "runs", ["ohlcv", _] | ["reports", _, _]:
                for step_id, step in steps.items():
                    if name_of(run_id, step_id, step) == name:
                        return step_id, step
        return None

    # --- calls -----------------------------------------------------------------------------------------------

    def _look(self, record: Recorded) -> None:
        name = record.resource.partition("/")[2]
        token = record.detail.get("token")
        claim = self.claims.get(token) if token else None
        if claim and name == name_of(claim.run, claim.step, self._step(claim)):
            self._in_vain[claim.token] = name not in self.objects
        if name not in self.objects:
            self._looks_in_vain[name] += 1

    def _paid(self, record: Recorded) -> None:
        token = record.detail.get("token")
        if token is None:
            self.asked_by_nobody += 1
            entitled = self.spoiled + sum(self._entitled(*owner) for owner in self.claims_of)
            if self.asked_by_nobody > entitled:
                self._say(record.resource, f"was asked {self.asked_by_nobody} times; {entitled} calls were due so far")
            return
        claim = self.claims.get(token)
        if claim is None:
            self._say(record.resource, f"was paid by {token}, who claimed nothing")
            return
        self.asked_by[token] += 1
        where = f"{claim.run}: {claim.step}"
        if not self._in_vain.get(token):
            self._say(where, f"{token} paid although the object was there, or without looking")
        if self.asked_by[token] > 1 + bool(record.detail.get("repair")):
            self._say(where, f"{token} paid {self.asked_by[token]} times")

    def _entitled(self, run_id: str, step_id: str) -> int:
        """How many claims of a step may have paid: those that looked for its object and did not find it."""
        step = steps_of(self.runs[run_id]).get(step_id, {}) if run_id in self.runs else {}
        if step.get("stepType") != PAID_TYPE:
            return 0
        return min(self.claims_of[run_id, step_id], self._looks_in_vain[name_of(run_id, step_id, step)])

    # --- the end ---------------------------------------------------------------------------------------------

    def _at_the_end(self, run_id: str, document: Document, *, over: bool) -> Iterator[str]:
        if over and document["status"] not in FINISHED:
            yield f"is still {document['status']}"
        for name, step in steps_of(document).items():
            if over and step["status"] in _AT_WORK and not _says(document, "FLOW_RUN_INVALID"):
                yield f"{name}: is still {step['status']}"
            if step["status"] == "SUCCEEDED":
                uri = str(step["outputs"].get("gcs_uri"))
                if not uri.endswith(f"/{name_of(run_id, name, step)}"):
                    yield f"{name}: points at {uri}"

    def _step(self, claim: Claim) -> Document:
        return steps_of(self.runs[claim.run])[claim.step]

    def _say(self, where: str, what: str) -> None:
        self.broken.append(f"{where}: {what}")


def name_of(run_id: str, step_id: str, step: Document) -> str:
    """The one object that is a step's result, from the table of spec/artifacts.md."""
    match step["stepType"]:
        case "OHLCV_EXPORT":
            return f"runs/{run_id}/ohlcv/{step.get('timeframe')}.json"
        case "CHART_EXPORT":
            return f"charts/{run_id}/{step_id}/manifest.json"
        case "LLM_REPORT":
            return f"runs/{run_id}/reports/{step.get('timeframe')}/{step_id}.json"
        case _:
            return f"runs/{run_id}/steps/{step_id}/result"


def _adopted(step: Document) -> bool:
    return bool(step["status"] == "SUCCEEDED" and step["outputs"].get("execution", {}).get("reused"))


def _says(thing: Document, code: str) -> bool:
    return bool(thing.get("error", {}).get("code") == code)


def _asked_for(manifest: bytes) -> set[str]:
    """The charts that a manifest knows of: made, or recorded as failed because nobody heard that they were stored."""
    return {request["chartTemplateId"] for request in json.loads(manifest)["requested"]}
