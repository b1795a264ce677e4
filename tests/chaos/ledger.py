"""The auditor's ledger: who was entitled to a paid call, and who made one.

A paid call belongs to a claim that looked for the object in vain, one for each claim and object, and one more to repair
what was no good; an answer that a filter has stopped is not repaired.

The twins' calls say whose they are (`token`), and are judged one by one. A question to the platform's model is known by
its stop sequences, which the profile of its step has too: it is counted against what the claims of the steps with these
stop sequences were entitled to. If no two steps have the same, that is one step of one run. A chart or a query on the
platform is nobody's: those are counted against all that were looked for in vain, and against the calls of their kind
with which something went wrong, as these alone are made again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.evidence import Known, Recorded, name_of

PAID_BY_A_STEP = ("gemini", "chart_img", "bigquery")
ASKING = ("generateContent", "streamGenerateContent")
ASKING_TYPE = "LLM_REPORT"
REPAIR = "repair"  # the block that a second question has, and a first one has not
# Answers that are not mended: a filter has stopped them, or they are none.
FINAL = ("safety", "blocked_prompt", "non_json")
QUERY = "jobs.query"
QUERYING_TYPE = "OHLCV_EXPORT"

Marks = tuple[str, ...]  # the stop sequences of a question


@dataclass(slots=True)
class Ledger:
    known: Known
    paid_by: Counter[tuple[str, str]] = field(default_factory=Counter)  # by token and object
    asked: Counter[Marks] = field(default_factory=Counter)  # first questions
    repairs: Counter[Marks] = field(default_factory=Counter)  # second ones
    unfit: Counter[Marks] = field(default_factory=Counter)  # answers to first questions: each of them may be repaired
    charts_bought: int = 0
    queries: int = 0
    spoiled: Counter[str] = field(default_factory=Counter)  # calls that something went wrong with, by service
    _unheard: int = 0  # questions of which there is no call yet
    _in_vain: dict[tuple[str, str], bool] = field(default_factory=dict)  # whether a token's last look found nothing
    _looks_in_vain: Counter[str] = field(default_factory=Counter)  # by object

    def hear(self, record: Recorded) -> None:
        match record.kind:
            case "question":
                self._question(record)
            case "answer" if record.detail.get("shape"):
                self._spoiled(record)
            case "call":
                self._call(record)

    def _call(self, record: Recorded) -> None:
        token = record.detail.get("token")
        if record.service == "storage" and record.method == "objects.get":
            self._look(record, token)
        elif token and record.service in PAID_BY_A_STEP:
            self._paid(record, token)
        elif record.service == "gemini" and record.method in ASKING:
            self._unheard -= 1
            if self._unheard < 0:
                self.known.say(record.resource, "was asked, and nobody knows what")
        elif record.service in PAID_BY_A_STEP:
            self.spoiled[record.service] += "fault" in record.detail
            if record.service == "chart_img":
                self._bought(record)
            elif record.method == QUERY:
                self._queried(record)

    def _look(self, record: Recorded, token: str | None) -> None:
        name = record.resource.partition("/")[2]
        if token and token in self.known.claims:
            self._in_vain[token, name] = name not in self.known.objects
        if name not in self.known.objects:
            self._looks_in_vain[name] += 1

    def _paid(self, record: Recorded, token: str) -> None:
        """A call that says whose it is. A chart is paid for its image, which is looked for too."""
        claim = self.known.claims.get(token)
        if claim is None:
            self.known.say(record.resource, f"was paid by {token}, who claimed nothing")
            return
        where = f"{claim.run}: {claim.step}"
        main = paid_for = name_of(claim.run, claim.step, self.known.step(claim.run, claim.step))
        if record.service == "chart_img":
            chart = record.resource.rpartition(" ")[2]
            paid_for = f"{main.removesuffix('manifest.json')}{chart}.png"
        for name in {main, paid_for}:
            if not self._in_vain.get((token, name)):
                self.known.say(where, f"{token} paid although {name} was there, or without looking")
        self.paid_by[token, paid_for] += 1
        if self.paid_by[token, paid_for] > 1 + bool(record.detail.get("repair")):
            self.known.say(where, f"{token} paid {self.paid_by[token, paid_for]} times for {paid_for}")

    def _question(self, record: Recorded) -> None:
        self._unheard += 1
        marks = _marks(record)
        owners = [owner for owner in self.known.claims_of if self._marks_of(*owner) == marks]
        where = f"{', '.join(f'{run_id}: {step_id}' for run_id, step_id in owners) or 'nobody'} {list(marks)}"
        if REPAIR in record.detail["blocks"]:
            self.repairs[marks] += 1
            if self.repairs[marks] > self.unfit[marks]:
                self.known.say(where, f"repaired {self.repairs[marks]} answers; {self.unfit[marks]} were no good")
            return
        self.asked[marks] += 1
        due = sum(self._entitled(*owner) for owner in owners)
        if self.asked[marks] > due:
            self.known.say(where, f"asked {self.asked[marks]} times; {due} calls were due so far")

    def _spoiled(self, record: Recorded) -> None:
        if record.detail["shape"] not in FINAL and REPAIR not in record.detail["blocks"]:
            self.unfit[_marks(record)] += 1

    def _bought(self, record: Recorded) -> None:
        self.charts_bought += 1
        looks = sum(looks for name, looks in self._looks_in_vain.items() if name.endswith(".png"))
        due = looks + self.spoiled[record.service]
        if self.charts_bought > due:
            self.known.say(record.resource, f"{self.charts_bought} charts were bought; {due} were due so far")

    def _queried(self, record: Recorded) -> None:
        self.queries += 1
        querying = [owner for owner in self.known.claims_of if self.known.step(*owner)["stepType"] == QUERYING_TYPE]
        due = sum(self._entitled(*owner) for owner in querying) + self.spoiled[record.service]
        if self.queries > due:
            self.known.say(record.resource, f"{self.queries} queries were made; {due} were due so far")

    def _entitled(self, run_id: str, step_id: str) -> int:
        """How many claims of a step may have paid: those that looked for its object and did not find it."""
        name = name_of(run_id, step_id, self.known.step(run_id, step_id))
        return min(self.known.claims_of[run_id, step_id], self._looks_in_vain[name])

    def _marks_of(self, run_id: str, step_id: str) -> Marks | None:
        """The stop sequences of a step's questions; None if it asks none."""
        step = self.known.step(run_id, step_id)
        if step.get("stepType") != ASKING_TYPE:
            return None
        return tuple(step.get("inputs", {}).get("llm", {}).get("llmProfile", {}).get("stopSequences") or ())


def _marks(record: Recorded) -> Marks:
    return tuple(record.detail["stops"])
