"""The auditor can be trusted: for each law a forged history that breaks it, and a whole one that breaks none."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.chaos.forger import (
    CHARTS,
    IMAGE,
    OHLCV,
    REPORT,
    RESULTS,
    RUN,
    T0,
    Forger,
    a_whole_run,
    failed_for_ever,
    one_step,
    set_run,
    text,
    verdict,
)


@pytest.mark.parametrize("by_token", [True, False])
def test_a_whole_run_breaks_nothing(by_token: bool) -> None:
    assert verdict(a_whole_run(by_token=by_token), over=True) == []


FORGED = {
    # one claimant
    "was taken from t1 by t2": lambda: one_step().claim(REPORT, "t2", attempt=2),
    "was claimed with the token of": lambda: Forger().done(OHLCV, "t1").ready(CHARTS).claim(CHARTS, "t1"),
    "was recorded as FAILED by t2": lambda: one_step().fail(REPORT, "INTERNAL", failures=1, by="t2", run="FAILED"),
    "lost its lease at": lambda: one_step().step(REPORT, "READY", "lease", readyAt=text(T0), leaseLosses=1),
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
    "waits in a FAILED run": lambda: Forger().write(set_run(status="FAILED", finishedAt=text(T0))),
    "has no wakeAt": lambda: Forger().ready(OHLCV, "RUNNING").write(lambda document: document.update(wakeAt=None)),
    "something is due at": lambda: (
        Forger().ready(OHLCV, "RUNNING").write(set_run(wakeAt=text(T0 + timedelta(hours=1))))
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
    failed.step(REPORT, "READY", "error", readyAt=text(T0), failures=0)
    assert (verdict(_marked(failed, before, "by_hand")) == []) is fine


def test_a_lease_may_end_early_by_as_much_as_clocks_differ() -> None:
    lost = Forger(steps=(REPORT,)).ready(REPORT, "RUNNING").claim(REPORT, "t1", ends=60)
    lost.step(REPORT, "READY", "lease", readyAt=text(T0), leaseLosses=1)
    assert verdict(lost, skew=timedelta(seconds=60)) == []
    assert verdict(lost, skew=timedelta(seconds=1))
    assert verdict(lost, skew=None) == []


def test_a_lease_may_be_ended_by_who_says_that_their_clock_is_ahead() -> None:
    lost = one_step()
    before = len(lost.records)
    lost.step(REPORT, "READY", "lease", readyAt=text(T0), leaseLosses=1)
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
