"""The auditor: judges a whole history of writes, objects and calls, and knows nothing of flowcore.

It is told what happened, record by record (those of emulator/history.py, or equal ones from the twins), and asked for
its verdict at the end. What it holds a system to:

- a step has one claimant at a time, a token claims one step, and a lease is not taken away before it ends;
- every write is a legal move (`transitions`), and nothing but runs and the known counters is written;
- an object is created once, under a name that a step of its type has, and belongs to a step that exists; an image was
  asked for, and belongs to a manifest, once the step has succeeded;
- SUCCEEDED points at its object, which was there first;
- a paid call belongs to a claim that looked for the object in vain, one for each claim and object, and one more to
  repair what was no good; an answer that a filter has stopped is not repaired;
- every run ends, if whoever asks says that it should have.

The twins' calls say whose they are (`token`), and are judged one by one. A question to the platform's model is known by
its stop sequences, which the profile of its step has too: it is counted against what the claims of the steps with these
stop sequences were entitled to. If no two steps have the same, that is one step of one run. A chart that was bought on
the platform is nobody's: those are counted against all that were looked for in vain.
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
PAID_BY_A_STEP = ("gemini", "chart_img", "bigquery")
ASKING = ("generateContent", "streamGenerateContent")
PAID_TYPE, CHART_TYPE = "LLM_REPORT", "CHART_EXPORT"
REPAIR = "repair"  # the block that a second question has, and a first one has not
# Answers that are not mended: a filter has stopped them, or they are none.
FINAL = ("safety", "blocked_prompt", "non_json")
CHART_TRIES = 3  # of one chart, inside one claim

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


Marks = tuple[str, ...]  # the stop sequences of a question


class Claim(NamedTuple):
    run: str
    step: str
    token: str


@dataclass(slots=True)
class Auditor:
    """`skew`: how far clocks may differ; None when they differ by more, and leases end when they like.

    Two marks in a write's detail excuse it: `by_hand`, an operator's, and `ahead`, by somebody who put their own clock
    forward because nobody was at work any more.
    """

    skew: timedelta | None = timedelta(seconds=60)
    broken: list[str] = field(default_factory=list)
    runs: dict[str, Document] = field(default_factory=dict)
    objects: dict[str, float] = field(default_factory=dict)  # names, without their bucket
    claims: dict[str, Claim] = field(default_factory=dict)  # by token
    taken_away: set[str] = field(default_factory=set)  # tokens whose claim somebody else has ended
    claims_of: Counter[tuple[str, str]] = field(default_factory=Counter)  # by run and step
    paid_by: Counter[tuple[str, str]] = field(default_factory=Counter)  # by token and object
    asked: Counter[Marks] = field(default_factory=Counter)  # first questions
    repairs: Counter[Marks] = field(default_factory=Counter)  # second ones
    unfit: Counter[Marks] = field(default_factory=Counter)  # answers to first questions: each of them may be repaired
    charts_bought: int = 0
    _unheard: int = 0  # questions of which there is no call yet
    _in_vain: dict[tuple[str, str], bool] = field(default_factory=dict)  # whether a token's last look found nothing
    _looks_in_vain: Counter[str] = field(default_factory=Counter)  # by object

    def hear(self, records: Iterable[Recorded]) -> Auditor:
        for record in records:
            match record.kind:
                case "write":
                    self._write(record)
                case "object":
                    self._object(record)
                case "question":
                    self._question(record)
                case "answer" if record.detail.get("shape"):
                    self._spoiled(record)
                case "call":
                    self._call(record)
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
            for law in of_write(before, after, by_hand=bool(record.detail.get("by_hand"))):
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
        judged = self.skew is not None and not record.detail.get("ahead")
        if held and judged and (move == ("RUNNING", "READY") or _says(new, "LEASE_EXPIRED")):
            ends, now = moment(old["lease"]["expiresAt"]), datetime.fromtimestamp(record.time, UTC)
            if ends and self.skew is not None and ends > now + self.skew:
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
            manifests = [other for other in self.objects if other.startswith(folder + "manifest.")]
            known = (_asked_for(json.loads(read(manifest))["requested"]) for manifest in manifests)
            if not any(file.removesuffix(".png") in charts for charts in known):
                return "is an image that no manifest knows of"
        return None

    def _owner(self, name: str) -> tuple[str, Document] | None:
        root, run_id, *rest = (*name.split("/"), "", "")
        steps = steps_of(self.runs[run_id]) if run_id in self.runs else {}
        match root, rest[:-2]:
            case ("charts", [step_id, _]) | ("runs", ["steps", step_id, _]) if step_id in steps:
                in_charts = steps[step_id]["stepType"] == CHART_TYPE
                return (step_id, steps[step_id]) if (root == "charts") == in_charts else None
            case "runs", ["ohlcv", _] | ["reports", _, _]:
                for step_id, step in steps.items():
                    if name_of(run_id, step_id, step) == name:
                        return step_id, step
        return None

    # --- calls -----------------------------------------------------------------------------------------------

    def _call(self, record: Recorded) -> None:
        token = record.detail.get("token")
        if record.service == "storage" and record.method == "objects.get":
            self._look(record, token)
        elif token and record.service in PAID_BY_A_STEP:
            self._paid(record, token)
        elif record.service == "gemini" and record.method in ASKING:
            self._unheard -= 1
            if self._unheard < 0:
                self._say(record.resource, "was asked, and nobody knows what")
        elif record.service == "chart_img":
            self._bought(record)

    def _look(self, record: Recorded, token: str | None) -> None:
        name = record.resource.partition("/")[2]
        if token and token in self.claims:
            self._in_vain[token, name] = name not in self.objects
        if name not in self.objects:
            self._looks_in_vain[name] += 1

    def _paid(self, record: Recorded, token: str) -> None:
        """A call that says whose it is. A chart is paid for its image, which is looked for too."""
        claim = self.claims.get(token)
        if claim is None:
            self._say(record.resource, f"was paid by {token}, who claimed nothing")
            return
        where = f"{claim.run}: {claim.step}"
        main = paid_for = name_of(claim.run, claim.step, self._step(claim))
        if record.service == "chart_img":
            chart = record.resource.rpartition(" ")[2]
            paid_for = f"{main.removesuffix('manifest.json')}{chart}.png"
        for name in {main, paid_for}:
            if not self._in_vain.get((token, name)):
                self._say(where, f"{token} paid although {name} was there, or without looking")
        self.paid_by[token, paid_for] += 1
        if self.paid_by[token, paid_for] > 1 + bool(record.detail.get("repair")):
            self._say(where, f"{token} paid {self.paid_by[token, paid_for]} times for {paid_for}")

    def _question(self, record: Recorded) -> None:
        self._unheard += 1
        marks = _marks(record)
        owners = [owner for owner in self.claims_of if self._marks_of(*owner) == marks]
        where = f"{', '.join(f'{run_id}: {step_id}' for run_id, step_id in owners) or 'nobody'} {list(marks)}"
        if REPAIR in record.detail["blocks"]:
            self.repairs[marks] += 1
            if self.repairs[marks] > self.unfit[marks]:
                self._say(where, f"repaired {self.repairs[marks]} answers; {self.unfit[marks]} were no good")
            return
        self.asked[marks] += 1
        due = sum(self._entitled(*owner) for owner in owners)
        if self.asked[marks] > due:
            self._say(where, f"asked {self.asked[marks]} times; {due} calls were due so far")

    def _spoiled(self, record: Recorded) -> None:
        if record.detail["shape"] not in FINAL and REPAIR not in record.detail["blocks"]:
            self.unfit[_marks(record)] += 1

    def _bought(self, record: Recorded) -> None:
        self.charts_bought += 1
        due = CHART_TRIES * sum(looks for name, looks in self._looks_in_vain.items() if name.endswith(".png"))
        if self.charts_bought > due:
            self._say(record.resource, f"{self.charts_bought} charts were bought; {due} were due so far")

    def _entitled(self, run_id: str, step_id: str) -> int:
        """How many claims of a step may have paid: those that looked for its object and did not find it."""
        name = name_of(run_id, step_id, steps_of(self.runs[run_id])[step_id])
        return min(self.claims_of[run_id, step_id], self._looks_in_vain[name])

    def _marks_of(self, run_id: str, step_id: str) -> Marks | None:
        """The stop sequences of a step's questions; None if it asks none."""
        step = steps_of(self.runs[run_id]).get(step_id, {}) if run_id in self.runs else {}
        if step.get("stepType") != PAID_TYPE:
            return None
        return tuple(step.get("inputs", {}).get("llm", {}).get("llmProfile", {}).get("stopSequences") or ())

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


def _asked_for(requests: Iterable[Document]) -> set[str]:
    """Charts, by what a step was asked for; a manifest tells them all, also those that nobody heard were stored."""
    return {request["chartTemplateId"] for request in requests}


def _marks(record: Recorded) -> Marks:
    return tuple(record.detail["stops"])
