"""What the auditor says of paid calls on the platform, where nobody says whose a call is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.chaos.auditor import Auditor
from tests.chaos.forger import CHARTS, IMAGE, MARK, OHLCV, REPORT, RESULTS, RUN, Forger, verdict

OWNER = f"{RUN}: {REPORT} ['{MARK}']"


def on_the_platform() -> Forger:
    """A report that was claimed, looked for, and is not there; its calls have no token."""
    return Forger(steps=(REPORT,), by_token=False).ready(REPORT, "RUNNING").claim(REPORT, "t1").look(REPORT, "t1")


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
    forger.look_for(IMAGE, "").buy("")
    assert verdict(forger) == []
    assert verdict(forger.buy("")) == [f"{CHARTS} candles: 2 charts were bought; 1 were due so far"]


def test_a_chart_that_did_not_come_may_be_bought_again() -> None:
    forger = Forger(steps=(CHARTS,), by_token=False).ready(CHARTS, "RUNNING").claim(CHARTS, "t1").look_for(IMAGE, "")
    forger.other("call", "chart_img", "AdvancedChart", "a symbol", fault="f-1").buy("")
    assert verdict(forger) == []
    assert verdict(forger.buy("")) == [f"{CHARTS} candles: 3 charts were bought; 2 were due so far"]


def test_queries_are_counted_against_the_candles_that_were_looked_for() -> None:
    forger = Forger(steps=(OHLCV,), by_token=False).ready(OHLCV, "RUNNING").claim(OHLCV, "t1").look(OHLCV, "t1")
    forger.other("call", "bigquery", "jobs.query", "a project", fault="f-1")
    forger.other("call", "bigquery", "jobs.query", "a project")
    forger.other("call", "bigquery", "jobs.getQueryResults", "a job")
    assert verdict(forger) == []
    forger.other("call", "bigquery", "jobs.query", "a project")
    assert verdict(forger) == ["a project: 3 queries were made; 2 were due so far"]


def test_a_call_after_the_object_was_found_is_not_due() -> None:
    forger = Forger(steps=(REPORT,), by_token=False).ready(REPORT, "RUNNING").claim(REPORT, "t1")
    assert verdict(forger.store(RESULTS[REPORT]).look(REPORT, "t1").pay(""))
