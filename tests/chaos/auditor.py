"""The auditor: judges a whole history of writes, objects and calls, and knows nothing of flowcore.

It is told what happened, record by record (those of emulator/history.py, or equal ones from the twins), and asked for
its verdict at the end. What it holds a system to:

- a step has one claimant at a time, a token claims one step, and a lease is not taken away before it ends;
- every write is a legal move (`transitions`), and nothing but runs and the known counters is written;
- an object is created once, under a name that a step of its type has, and belongs to a step that exists; an image was
  asked for, and belongs to a manifest, once the step has succeeded;
- SUCCEEDED points at its object, which was there first;
- a paid call belongs to a claim that was entitled to it (`ledger`);
- every run ends, if whoever asks says that it should have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.chaos.evidence import Claim, Known, Recorded, name_of
from tests.chaos.ledger import Ledger
from tests.chaos.transitions import FINISHED, Document, changed_steps, moment, of_document, of_write, steps_of

RUNS = "flow_runs"
COUNTERS = ("chart_img_accounts_usage",)
CHART_TYPE = "CHART_EXPORT"
_EVIDENCE = re.compile(r"manifest\.attempt-(\d+)\.json")
_AT_WORK = ("PENDING", "READY", "RUNNING")

Read = Callable[[str], bytes]


@dataclass(slots=True)
class Auditor:
    """`skew`: how far clocks may differ; None when they differ by more, and leases end when they like.

    Two marks in a write's detail excuse it: `by_hand`, an operator's, and `ahead`, by somebody who put their own clock
    forward because nobody was at work any more.
    """

    skew: timedelta | None = timedelta(seconds=60)
    known: Known = field(default_factory=Known)
    taken_away: set[str] = field(default_factory=set)  # tokens whose claim somebody else has ended
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.known)

    def hear(self, records: Iterable[Recorded]) -> Auditor:
        for record in records:
            match record.kind:
                case "write":
                    self._write(record)
                case "object":
                    self._object(record)
                case _:
                    self.ledger.hear(record)
        return self

    def verdict(self, *, over: bool = True, read: Read | None = None) -> list[str]:
        """What was broken, and what is wrong at the end. `read` gives an object's content: manifests name images."""
        found = list(self.known.broken)
        for run_id, document in self.known.runs.items():
            found += (f"{run_id}: {law}" for law in self._at_the_end(run_id, document, over=over))
        for name in sorted(self.known.objects):
            reason = self._orphan(name, read)
            if reason:
                found.append(f"{name}: {reason}")
        return found

    # --- writes ----------------------------------------------------------------------------------------------

    def _write(self, record: Recorded) -> None:
        collection, _, run_id = record.resource.partition("/")
        if collection != RUNS or not run_id or "/" in run_id:
            if collection not in COUNTERS:
                self.known.say(record.resource, "is none of the documents that may be written")
            return
        before, after = record.detail["before"], record.detail["after"]
        if after is None:
            self.known.say(run_id, "the run was deleted")
            self.known.runs.pop(run_id, None)
            return
        self.known.runs[run_id] = after
        if before is not None:
            for law in of_write(before, after, by_hand=bool(record.detail.get("by_hand"))):
                self.known.say(run_id, law)
            for name, old, new in changed_steps(before, after):
                self._moved(record, run_id, name, old, new)
        for law in of_document(after):
            self.known.say(run_id, law)

    def _moved(self, record: Recorded, run_id: str, name: str, old: Document, new: Document) -> None:
        move, where = (old["status"], new["status"]), f"{run_id}: {name}"
        held, holds = old.get("lease", {}).get("token"), new.get("lease", {}).get("token")
        if holds and holds != held:
            if held:
                self.known.say(where, f"was taken from {held} by {holds}")
            # A claim whose reply was lost may be over by another's hand before its author learns of it: then the author
            # has nothing, and takes what is there. Who has ended its claim itself, or still holds it, takes no other.
            another = holds in self.known.claims and self.known.claims[holds] != Claim(run_id, name, holds)
            if another and holds not in self.taken_away:
                self.known.say(where, f"was claimed with the token of {self.known.claims[holds]}")
            self.known.claims[holds] = Claim(run_id, name, holds)
            claims = self.known.claims_of[run_id, name] = self.known.claims_of[run_id, name] + 1
            if new.get("attempt") != claims:
                self.known.say(where, f"claim {claims} is called attempt {new.get('attempt')}")
        author = record.detail.get("token")
        if held and not holds and (move[1] == "READY" or author not in (None, held) or _adopted(new)):
            self.taken_away.add(held)
        if author and move == ("RUNNING", "FAILED") and author != held:
            self.known.say(where, f"was recorded as FAILED by {author}, and held by {held}")
        judged = self.skew is not None and not record.detail.get("ahead")
        if held and judged and (move == ("RUNNING", "READY") or _says(new, "LEASE_EXPIRED")):
            ends, now = moment(old["lease"]["expiresAt"]), datetime.fromtimestamp(record.time, UTC)
            if ends and self.skew is not None and ends > now + self.skew:
                self.known.say(where, f"lost its lease at {now}, but held it until {ends}")
        if move[1] == "SUCCEEDED" and name_of(run_id, name, new) not in self.known.objects:
            self.known.say(where, "is SUCCEEDED, but its object does not exist")

    # --- objects ---------------------------------------------------------------------------------------------

    def _object(self, record: Recorded) -> None:
        name = record.resource.partition("/")[2]
        if record.method == "objects.delete":
            self.known.say(name, "was deleted")
        elif name not in self.known.objects:
            self.known.objects.add(name)
        elif record.method != "objects.patch":
            self.known.say(name, f"was written a second time ({record.method})")

    def _orphan(self, name: str, read: Read | None) -> str | None:
        """Why an object belongs to nothing; None when it does."""
        owner = self._owner(name)
        if owner is None:
            return "belongs to no step of any run"
        step_id, step = owner
        file = name.rpartition("/")[2]
        if name == name_of(name.split("/")[1], step_id, step):
            return None
        if step["stepType"] != CHART_TYPE:
            return f"is nothing that a {step['stepType']} leaves behind"
        evidence = _EVIDENCE.fullmatch(file)
        if evidence:
            made = 1 <= int(evidence[1]) <= int(step.get("attempt", 0))
            return None if made else f"is evidence of an attempt that {step_id} never made"
        if not file.endswith(".png") or file.removesuffix(".png") not in _asked_for(
            step.get("inputs", {}).get("requests", ())
        ):
            return f"is nothing that {step_id} was asked for"
        if step["status"] == "SUCCEEDED" and read:
            folder = name.removesuffix(file)
            manifests = [other for other in self.known.objects if other.startswith(folder + "manifest.")]
            known = (_asked_for(json.loads(read(manifest))["requested"]) for manifest in manifests)
            if not any(file.removesuffix(".png") in charts for charts in known):
                return "is an image that no manifest knows of"
        return None

    def _owner(self, name: str) -> tuple[str, Document] | None:
        root, run_id, *rest = (*name.split("/"), "", "")
        steps = steps_of(self.known.runs[run_id]) if run_id in self.known.runs else {}
        match root, rest[:-2]:
            case ("charts", [step_id, _]) | ("runs", ["steps", step_id, _]) if step_id in steps:
                in_charts = steps[step_id]["stepType"] == CHART_TYPE
                return (step_id, steps[step_id]) if (root == "charts") == in_charts else None
            case "runs", ["ohlcv", _] | ["reports", _, _]:
                for step_id, step in steps.items():
                    if name_of(run_id, step_id, step) == name:
                        return step_id, step
        return None

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


def _adopted(step: Document) -> bool:
    return bool(step["status"] == "SUCCEEDED" and step["outputs"].get("execution", {}).get("reused"))


def _says(thing: Document, code: str) -> bool:
    return bool(thing.get("error", {}).get("code") == code)


def _asked_for(requests: Iterable[Document]) -> set[str]:
    """Charts, by what a step was asked for; a manifest tells them all, also those that nobody heard were stored."""
    return {request["chartTemplateId"] for request in requests}
