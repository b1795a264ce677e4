"""The auditor can be trusted: for each law a forged history that breaks it, and a whole one that breaks none."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.auditor import Auditor

T0 = datetime(2026, 1, 1, tzinfo=UTC)
RUN, OHLCV, CHARTS, REPORT = "run-1", "ohlcv", "charts", "report"
RESULTS = {
    OHLCV: f"runs/{RUN}/ohlcv/1d.json",
    CHARTS: f"charts/{RUN}/{CHARTS}/manifest.json",
    REPORT: f"runs/{RUN}/reports/1d/{REPORT}.json",
}
IMAGE = f"charts/{RUN}/{CHARTS}/candles.png"
MARK = f"{RUN} {REPORT}"
REQUESTS = [{"chartTemplateId": "candles"}, {"chartTemplateId": "volumes"}]
MANIFEST = json.dumps({"requested": REQUESTS[:1]}).encode()


@dataclass(frozen=True, slots=True)
class Told:
    time: float
    kind: str
    service: str
    method: str
    resource: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class Forger:
    """Writes a history: `step` changes a step and whatever else is said, and keeps the rest of the document fitting."""

    def __init__(self, *, steps: tuple[str, ...] = (OHLCV, CHARTS, REPORT), by_token: bool = True) -> None:
        self.records: list[Told] = []
        self.second = 0
        self.by_token = by_token
        inputs = {CHARTS: {"requests": REQUESTS}, REPORT: {"llm": {"llmProfile": {"stopSequences": [MARK]}}}}
        types = {OHLCV: "OHLCV_EXPORT", CHARTS: "CHART_EXPORT", REPORT: "LLM_REPORT"}
        needs = {OHLCV: [], CHARTS: [OHLCV], REPORT: [CHARTS]}
        self.document: dict[str, Any] = {
            "status": "PENDING",
            "steps": {
                name: {
                    "stepType": types[name],
                    "timeframe": "1d",
                    "status": "PENDING",
                    "dependsOn": [other for other in needs[name] if other in steps],
                    "inputs": inputs.get(name, {}),
                    "outputs": {},
                }
                for name in steps
            },
        }
        self._tell("write", "firestore", "create", f"flow_runs/{RUN}", before=None, after=deepcopy(self.document))

    def write(self, change: Callable[[dict[str, Any]], object], **detail: object) -> Forger:
        before = deepcopy(self.document)
        change(self.document)
        if self.document["status"] == "RUNNING":
            self.document.setdefault("wakeAt", _text(T0))
        after = deepcopy(self.document)
        return self._tell("write", "firestore", "update", f"flow_runs/{RUN}", before=before, after=after, **detail)

    def step(self, name: str, status: str, *gone: str, run: str | None = None, **fields: object) -> Forger:
        token = fields.pop("by", None)

        def change(document: dict[str, Any]) -> None:
            step = document["steps"][name]
            step |= {"status": status, **fields}
            for key in gone:
                del step[key]
            if run:
                document["status"] = run
                if run != "RUNNING":
                    document["finishedAt"] = _text(T0)
                    document.pop("wakeAt", None)

        return self.write(change, **({"token": token} if token else {}))

    def ready(self, name: str, run: str | None = None) -> Forger:
        return self.step(name, "READY", readyAt=_text(T0), run=run)

    def claim(self, name: str, token: str, attempt: int = 1, ends: int = 600) -> Forger:
        lease = {"token": token, "expiresAt": _text(T0 + timedelta(seconds=ends))}
        return self.step(name, "RUNNING", lease=lease, attempt=attempt)

    def look(self, name: str, token: str) -> Forger:
        return self.look_for(RESULTS[name], token)

    def pay(self, token: str, **detail: object) -> Forger:
        """On the platform a question says what it is, and its call does not."""
        if not self.by_token:
            self.note("question", "candles", "task", *(["repair"] if detail.pop("repair", False) else []))
        return self._tell("call", "gemini", "generateContent", "a-model", **self._by(token), **detail)

    def note(self, kind: str, *blocks: str, mark: str = MARK, **detail: object) -> Forger:
        about = {"stops": [mark], "blocks": list(blocks), **detail}
        return self._tell(kind, "gemini", "generateContent", "a-model", **about)

    def buy(self, token: str, chart: str = "candles") -> Forger:
        return self._tell("call", "chart_img", "AdvancedChart", f"{CHARTS} {chart}", **self._by(token))

    def look_for(self, name: str, token: str) -> Forger:
        return self._tell("call", "storage", "objects.get", f"bucket/{name}", **self._by(token))

    def store(self, name: str, method: str = "objects.insert") -> Forger:
        return self._tell("object", "storage", method, f"bucket/{name}")

    def succeed(self, name: str, run: str | None = None) -> Forger:
        uri = f"gs://bucket/{RESULTS[name]}"
        return self.step(name, "SUCCEEDED", "lease", outputs={"gcs_uri": uri}, run=run)

    def fail(self, name: str, code: str, run: str | None = None, **fields: object) -> Forger:
        error = {"code": code, "message": "", "retryable": False}
        return self.step(name, "FAILED", "lease", error=error, run=run, **fields)

    def done(self, name: str, token: str, run: str | None = None) -> Forger:
        """A step as it should be, from READY to SUCCEEDED."""
        self.ready(name, "RUNNING").claim(name, token).look(name, token)
        if name == REPORT:
            self.pay(token)
        if name == CHARTS:
            self.look_for(IMAGE, token).buy(token).store(IMAGE)
        return self.store(RESULTS[name]).succeed(name, run)

    def other(self, kind: str, service: str, method: str, resource: str, **detail: object) -> Forger:
        return self._tell(kind, service, method, resource, **detail)

    def _by(self, token: str) -> dict[str, object]:
        return {"token": token} if self.by_token else {}

    def _tell(self, kind: str, service: str, method: str, resource: str, **detail: object) -> Forger:
        self.second += 1
        at = (T0 + timedelta(seconds=self.second)).timestamp()
        self.records.append(Told(at, kind, service, method, resource, detail))
        return self


def _text(moment: datetime) -> str:
    return moment.isoformat()


def a_whole_run(*, by_token: bool = True) -> Forger:
    forger = Forger(by_token=by_token)
    return forger.done(OHLCV, "t1").done(CHARTS, "t2").done(REPORT, "t3", run="SUCCEEDED")


def one_step(name: str = REPORT, token: str = "t1") -> Forger:
    """A run of one step, claimed."""
    return Forger(steps=(name,)).ready(name, "RUNNING").claim(name, token)


def failed_for_ever(code: str) -> Forger:
    """And its author believes that it may be tried again."""
    return one_step().step(REPORT, "FAILED", "lease", error={"code": code, "retryable": True}, failures=1)


def set_run(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document.update(fields)


def verdict(forger: Forger, *, over: bool = False, **options: Any) -> list[str]:
    return Auditor(**options).hear(forger.records).verdict(over=over, read=lambda _: MANIFEST)


@pytest.mark.parametrize("by_token", [True, False])
def test_a_whole_run_breaks_nothing(by_token: bool) -> None:
    assert verdict(a_whole_run(by_token=by_token), over=True) == []


FORGED = {
    # one claimant
    "was taken from t1 by t2": lambda: one_step().claim(REPORT, "t2", attempt=2),
    "was claimed with the token of": lambda: Forger().done(OHLCV, "t1").ready(CHARTS).claim(CHARTS, "t1"),
    "was recorded as FAILED by t2": lambda: one_step().fail(REPORT, "INTERNAL", failures=1, by="t2", run="FAILED"),
    "lost its lease at": lambda: one_step().step(REPORT, "READY", "lease", readyAt=_text(T0), leaseLosses=1),
    "is RUNNING and has no lease": lambda: one_step().step(REPORT, "RUNNING", "lease"),
    # legal moves
    "went from PENDING to RUNNING": lambda: Forger().claim(OHLCV, "t1"),
    "went from SUCCEEDED to FAILED": lambda: (
        Forger().done(OHLCV, "t1").step(OHLCV, "FAILED", error={"code": "INTERNAL"}, outputs={})
    ),
    "went from READY to SUCCEEDED": lambda: (
        Forger().ready(OHLCV, "RUNNING").store(RESULTS[OHLCV]).step(OHLCV, "SUCCEEDED", outputs={"gcs_uri": "gs://b/x"})
    ),
    "in a SUCCEEDED run": lambda: a_whole_run().ready(OHLCV),
    "the run went from SUCCEEDED to RUNNING": lambda: a_whole_run().write(set_run(status="RUNNING")),
    "although ohlcv is PENDING": lambda: Forger().ready(CHARTS, "RUNNING"),
    "was claimed in a run that is cancelled": lambda: (
        Forger().ready(OHLCV, "RUNNING").write(set_run(cancelRequested=True)).claim(OHLCV, "t1")
    ),
    "inputs was changed": lambda: Forger().step(OHLCV, "PENDING", inputs={"x": 1}),
    "scope of the run was changed": lambda: Forger().write(set_run(scope={"symbol": "X"})),
    "steps came or went": lambda: Forger().write(lambda document: document["steps"].popitem()),
    "its result was replaced": lambda: a_whole_run().step(OHLCV, "SUCCEEDED", outputs={"gcs_uri": "gs://b/other"}),
    "waits in a FAILED run": lambda: Forger().write(set_run(status="FAILED", finishedAt=_text(T0))),
    "has no wakeAt": lambda: Forger().ready(OHLCV, "RUNNING").write(lambda document: document.update(wakeAt=None)),
    "something is due at": lambda: (
        Forger().ready(OHLCV, "RUNNING").write(set_run(wakeAt=_text(T0 + timedelta(hours=1))))
    ),
    # counters
    "claim 1 is called attempt 2": lambda: Forger().ready(OHLCV, "RUNNING").claim(OHLCV, "t1", attempt=2),
    "and attempt by -1": lambda: one_step().fail(REPORT, "INTERNAL", failures=1, attempt=0, run="FAILED"),
    "and failures by 0": lambda: one_step().fail(REPORT, "INTERNAL", run="FAILED"),
    "was tried again after INTERNAL": lambda: (
        one_step(OHLCV).fail(OHLCV, "INTERNAL", failures=1).step(OHLCV, "PENDING", "error")
    ),
    "was tried again after LLM_SAFETY_BLOCK": lambda: failed_for_ever("LLM_SAFETY_BLOCK").ready(REPORT),
    "was tried again after INVALID_STRUCTURED_OUTPUT": lambda: failed_for_ever("INVALID_STRUCTURED_OUTPUT").ready(
        REPORT
    ),
    "was offered again after 2 lost leases": lambda: (
        one_step().step(REPORT, "RUNNING", leaseLosses=1).step(REPORT, "READY", "lease", leaseLosses=2)
    ),
    "was given up with NO_WORKER after 0 nudges": lambda: (
        Forger(steps=(OHLCV,)).ready(OHLCV, "RUNNING").step(OHLCV, "FAILED", error={"code": "NO_WORKER"}, run="FAILED")
    ),
    # objects
    "was written a second time": lambda: a_whole_run().store(RESULTS[OHLCV]),
    "was deleted": lambda: a_whole_run().store(RESULTS[OHLCV], "objects.delete"),
    "its object does not exist": lambda: one_step().succeed(REPORT, "SUCCEEDED"),
    "points at gs://b/x": lambda: (
        one_step().store(RESULTS[REPORT]).step(REPORT, "SUCCEEDED", "lease", outputs={"gcs_uri": "gs://b/x"})
    ),
    "belongs to no step of any run": lambda: a_whole_run().store(f"runs/{RUN}/steps/nobody/result"),
    "is evidence of an attempt that charts never made": lambda: a_whole_run().store(
        f"charts/{RUN}/{CHARTS}/manifest.attempt-2.json"
    ),
    "is an image that no manifest knows of": lambda: a_whole_run().store(f"charts/{RUN}/{CHARTS}/volumes.png"),
    "other.png: is nothing that charts was asked for": lambda: a_whole_run().store(f"charts/{RUN}/{CHARTS}/other.png"),
    "left-over.tmp: is nothing that charts was asked for": lambda: a_whole_run().store(
        f"charts/{RUN}/{CHARTS}/left-over.tmp"
    ),
    "is nothing that a OHLCV_EXPORT leaves behind": lambda: a_whole_run().store(f"runs/{RUN}/steps/{OHLCV}/result"),
    f"charts/{RUN}/{REPORT}/manifest.json: belongs to no step": lambda: a_whole_run().store(
        f"charts/{RUN}/{REPORT}/manifest.json"
    ),
    # paid calls
    "or without looking": lambda: one_step().pay("t1"),
    f"paid although {RESULTS[REPORT]} was there": lambda: (
        one_step().store(RESULTS[REPORT]).look(REPORT, "t1").pay("t1")
    ),
    f"paid although {IMAGE} was there": lambda: one_step(CHARTS).look(CHARTS, "t1").buy("t1"),
    f"paid although {RESULTS[CHARTS]} was there": lambda: one_step(CHARTS).look_for(IMAGE, "t1").buy("t1"),
    f"paid 2 times for {IMAGE}": lambda: one_step(CHARTS).look(CHARTS, "t1").look_for(IMAGE, "t1").buy("t1").buy("t1"),
    "paid 2 times": lambda: one_step().look(REPORT, "t1").pay("t1").pay("t1"),
    "paid 3 times": lambda: one_step().look(REPORT, "t1").pay("t1").pay("t1", repair=True).pay("t1", repair=True),
    "who claimed nothing": lambda: one_step().pay("t9"),
    # nothing else
    "is none of the documents that may be written": lambda: Forger().other(
        "write", "firestore", "create", "llm_profiles/p", before=None, after={}
    ),
    "the run was deleted": lambda: Forger().other(
        "write", "firestore", "delete", f"flow_runs/{RUN}", before={}, after=None
    ),
}


@pytest.mark.parametrize("law", FORGED)
def test_a_forged_history_is_seen_through(law: str) -> None:
    found = verdict(FORGED[law]())
    assert any(law in said for said in found), found


def on_the_platform() -> Forger:
    """A report that was claimed, looked for, and is not there; its calls have no token."""
    return Forger(steps=(REPORT,), by_token=False).ready(REPORT, "RUNNING").claim(REPORT, "t1").look(REPORT, "t1")


OWNER = f"{RUN}: {REPORT} ['{MARK}']"


def test_a_question_is_counted_against_the_claims_of_its_step() -> None:
    forger = on_the_platform().pay("")
    assert verdict(forger) == []
    assert verdict(forger.pay("")) == [f"{OWNER}: asked 2 times; 1 calls were due so far"]


def test_one_run_does_not_pay_for_another() -> None:
    """The second run has claimed and looked, and never asked: its call is not the first one's."""
    forger, other = on_the_platform(), on_the_platform()
    records = list(forger.records)
    for record in other.records:
        text = json.dumps([record.resource, record.detail]).replace(RUN, "run-2").replace("t1", "t2")
        resource, detail = json.loads(text)
        records.append(replace(record, resource=resource, detail=detail))
    asked = len(forger.records)
    forger.pay("").pay("")
    found = Auditor().hear([*records, *forger.records[asked:]]).verdict(over=False)
    assert found == [f"{OWNER}: asked 2 times; 1 calls were due so far"]


@pytest.mark.parametrize(
    ("shape", "fine"), [("truncated_json", True), ("safety", False), ("blocked_prompt", False), (None, False)]
)
def test_an_answer_is_repaired_when_it_was_no_good_and_no_filter_stopped_it(shape: str | None, *, fine: bool) -> None:
    forger = on_the_platform().pay("").note("answer", "candles", "task", shape=shape)
    found = verdict(forger.pay("", repair=True))
    assert found == ([] if fine else [f"{OWNER}: repaired 1 answers; 0 were no good"])


def test_a_repair_is_not_repaired() -> None:
    forger = on_the_platform().pay("").note("answer", "task", shape="wrong_type")
    forger.pay("", repair=True).note("answer", "task", "repair", shape="wrong_type")
    assert verdict(forger) == []
    assert verdict(forger.pay("", repair=True)) == [f"{OWNER}: repaired 2 answers; 1 were no good"]


def test_a_question_that_is_nobodys_is_not_due() -> None:
    forger = on_the_platform().note("question", "task", mark="somebody else's")
    assert verdict(forger) == ['nobody ["somebody else\'s"]: asked 1 times; 0 calls were due so far']


def test_a_call_without_its_question_is_noticed() -> None:
    forger = on_the_platform().other("call", "gemini", "generateContent", "a-model")
    assert verdict(forger) == ["a-model: was asked, and nobody knows what"]


def test_charts_that_are_nobodys_are_counted_against_those_that_were_looked_for() -> None:
    forger = Forger(steps=(CHARTS,), by_token=False).ready(CHARTS, "RUNNING").claim(CHARTS, "t1").look(CHARTS, "t1")
    assert verdict(Forger(by_token=False).buy("")) == [f"{CHARTS} candles: 1 charts were bought; 0 were due so far"]
    forger.look_for(IMAGE, "").buy("").buy("").buy("")
    assert verdict(forger) == []
    assert verdict(forger.buy("")) == [f"{CHARTS} candles: 4 charts were bought; 3 were due so far"]


def test_a_call_after_the_object_was_found_is_not_due() -> None:
    forger = Forger(steps=(REPORT,), by_token=False).ready(REPORT, "RUNNING").claim(REPORT, "t1")
    assert verdict(forger.store(RESULTS[REPORT]).look(REPORT, "t1").pay(""))


@pytest.mark.parametrize(("by", "fine"), [("t1", False), ("t2", True)])
def test_a_token_is_free_again_only_when_another_has_ended_its_claim(by: str, *, fine: bool) -> None:
    """The reply of a claim was lost; before its author reads again, somebody finds the object and records the step."""
    forger = Forger().ready(OHLCV, "RUNNING").claim(OHLCV, "t1").store(RESULTS[OHLCV])
    forger.step(OHLCV, "SUCCEEDED", "lease", outputs={"gcs_uri": f"gs://bucket/{RESULTS[OHLCV]}"}, by=by)
    assert (verdict(forger.ready(CHARTS).claim(CHARTS, "t1")) == []) is fine


def test_a_run_that_should_be_over_and_is_not() -> None:
    assert verdict(one_step(), over=False) == []
    assert verdict(one_step(), over=True) == [f"{RUN}: is still RUNNING", f"{RUN}: {REPORT}: is still RUNNING"]


def test_an_operator_may_do_what_nobody_else_may() -> None:
    reopened = one_step().fail(REPORT, "INTERNAL", failures=1, run="FAILED")
    before = len(reopened.records)
    reopened.write(set_run(status="RUNNING")).step(REPORT, "SKIPPED", run="SUCCEEDED")
    assert verdict(reopened)
    assert verdict(_marked(reopened, before, "by_hand")) == []


@pytest.mark.parametrize(
    ("code", "fine"), [("INTERNAL", True), ("LLM_SAFETY_BLOCK", False), ("INVALID_STRUCTURED_OUTPUT", False)]
)
def test_not_even_an_operator_asks_again_what_must_not_be_asked(code: str, *, fine: bool) -> None:
    failed = failed_for_ever(code)
    before = len(failed.records)
    failed.step(REPORT, "READY", "error", readyAt=_text(T0), failures=0)
    assert (verdict(_marked(failed, before, "by_hand")) == []) is fine


def test_a_lease_may_end_early_by_as_much_as_clocks_differ() -> None:
    lost = Forger(steps=(REPORT,)).ready(REPORT, "RUNNING").claim(REPORT, "t1", ends=60)
    lost.step(REPORT, "READY", "lease", readyAt=_text(T0), leaseLosses=1)
    assert verdict(lost, skew=timedelta(seconds=60)) == []
    assert verdict(lost, skew=timedelta(seconds=1))
    assert verdict(lost, skew=None) == []


def test_a_lease_may_be_ended_by_who_says_that_their_clock_is_ahead() -> None:
    lost = one_step()
    before = len(lost.records)
    lost.step(REPORT, "READY", "lease", readyAt=_text(T0), leaseLosses=1)
    assert verdict(lost)
    assert verdict(_marked(lost, before, "ahead")) == []


def test_the_auditor_knows_nothing_of_flowcore() -> None:
    own = {f"tests.chaos.{name}" for name in ("auditor", "evidence", "ledger", "transitions")}
    for module in own:
        parsed = ast.parse((Path(__file__).parent / f"{module.rpartition('.')[2]}.py").read_text())
        named = {alias.name for node in ast.walk(parsed) if isinstance(node, ast.Import) for alias in node.names}
        named |= {str(node.module) for node in ast.walk(parsed) if isinstance(node, ast.ImportFrom)}
        assert named
        assert {name.partition(".")[0] for name in named - own} <= sys.stdlib_module_names


def _marked(forger: Forger, start: int, mark: str) -> Forger:
    """The same history, with the writes from there on marked."""
    for number, record in enumerate(forger.records[start:], start):
        forger.records[number] = replace(record, detail={**record.detail, mark: True})
    return forger
