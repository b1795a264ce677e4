"""What an operator may do, in one patch each; and what is refused, with a word on what would work."""

from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import given, settings

from flowcore.domain.manual import Refused, cancel, reopen, retry, skip
from flowcore.domain.model import Run, RunStatus, StepStatus
from flowcore.domain.patch import NOTHING, Patch, apply
from flowcore.domain.plan import plan
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step, parsed
from flowcore.testing.world import T0
from tests.domain.promises import broken_promises_of
from tests.domain.strategies import documents

BLOCKED = {"code": "DEPENDENCY_NOT_SUCCEEDED", "message": "needs another", "retryable": False}


def failed_run() -> dict[str, object]:
    document = a_run(ohlcv="FAILED")
    return apply(document, plan(parsed(document), T0))


def after(document: Mapping[str, object], patch: Patch) -> Run:
    return parsed(apply(document, patch))


def test_retry_gives_a_fresh_start_to_everything_behind() -> None:
    document = failed_run()
    run = after(document, retry(parsed(document), [OHLCV], T0))
    assert run.status is RunStatus.RUNNING
    assert run.finished_at is None
    assert [run.steps[name].status for name in (OHLCV, CHARTS, REPORT)] == ["READY", "PENDING", "PENDING"]
    assert (run.steps[OHLCV].failures, run.steps[OHLCV].attempt) == (0, 1)
    assert run.wake_at is not None


def test_retry_keeps_the_failed_attempt_readable() -> None:
    document = failed_run()
    (kept,) = after(document, retry(parsed(document), [OHLCV], T0)).steps[OHLCV].attempts
    assert kept["attempt"] == 1
    assert kept["error"] == {"code": "INVALID_STEP_INPUTS", "message": "no good", "retryable": False}


@pytest.mark.parametrize("code", ["INVALID_STRUCTURED_OUTPUT", "LLM_SAFETY_BLOCK"])
def test_retry_of_an_answer_that_would_be_the_same_is_refused(code: str) -> None:
    error = {"code": code, "message": "no", "retryable": False}
    run = parsed(a_run("FAILED", steps={"a": a_step("X", "FAILED", error=error)}))
    with pytest.raises(Refused, match="new run"):
        retry(run, ["a"], T0)


@pytest.mark.parametrize("status", ["PENDING", "READY", "RUNNING", "SUCCEEDED", "SKIPPED", "CANCELLED"])
def test_retry_of_a_step_that_has_not_failed_is_refused(status: str) -> None:
    with pytest.raises(Refused, match=f"is {status}; only a FAILED step"):
        retry(parsed(a_run(ohlcv=status)), [OHLCV], T0)


@pytest.mark.parametrize(
    "wish", [lambda run: retry(run, ["a"], T0), lambda run: skip(run, ["a"], T0)], ids=["retry", "skip"]
)
class TestRefusals:
    def test_unknown_step_names_those_that_exist(self, wish: object) -> None:
        run = parsed(a_run("FAILED", steps={"b": a_step("X", "FAILED")}))
        self.refused(wish, run, "no step 'a'; its steps are b")

    def test_cancelled_run_is_not_reopened(self, wish: object) -> None:
        steps = {"a": a_step("X", "FAILED")}
        self.refused(wish, parsed(a_run("CANCELLED", steps=steps)), "cancelled")
        self.refused(wish, parsed(a_run(steps=steps, cancelRequested=True)), "cancelled")

    def test_broken_document_has_to_be_corrected(self, wish: object) -> None:
        steps = {"a": a_step("X", "FAILED"), "b": a_step("X", depends_on=["nowhere"])}
        self.refused(wish, parsed(a_run("FAILED", steps=steps)), "steps.b.dependsOn")

    def test_other_failure_has_to_be_included(self, wish: object) -> None:
        steps = {"a": a_step("X", "FAILED"), "b": a_step("X", "FAILED")}
        self.refused(wish, parsed(a_run("FAILED", steps=steps)), "because of b")

    @staticmethod
    def refused(wish: object, run: Run, words: str) -> None:
        assert callable(wish)
        with pytest.raises(Refused, match=words):
            wish(run)


def test_optional_failure_does_not_stand_in_the_way() -> None:
    steps = {"a": a_step("X", "FAILED"), "b": a_step("X", "FAILED", optional=True)}
    document = a_run("FAILED", steps=steps)
    run = after(document, retry(parsed(document), ["a"], T0))
    assert (run.status, run.steps["b"].status) == (RunStatus.RUNNING, StepStatus.FAILED)


def test_step_skipped_for_another_cause_stays_as_it_is() -> None:
    """Nothing about it changes, so nothing of it is written."""
    steps = {
        "a": a_step("X", "FAILED"),
        "o": a_step("X", "FAILED", optional=True),
        "behind_o": a_step("X", "SKIPPED", ["o"], optional=True, error=BLOCKED),
    }
    document = a_run("FAILED", steps=steps, finishedAt="2025-12-24T11:00:00Z")
    patch = retry(parsed(document), ["a"], T0)
    run = after(document, patch)
    assert run.steps["behind_o"].status is StepStatus.SKIPPED
    assert "steps.behind_o.status" not in patch.changes


def test_retry_of_a_corrected_run_clears_the_runs_own_error() -> None:
    error = {"code": "FLOW_RUN_INVALID", "message": "was broken", "retryable": False}
    document = a_run("FAILED", ohlcv="FAILED", error=error)
    run = after(document, retry(parsed(document), [OHLCV], T0))
    assert run.status is RunStatus.RUNNING
    assert run.error is None


def test_skip_lets_the_run_end_well() -> None:
    document = failed_run()
    run = after(document, skip(parsed(document), [OHLCV], T0))
    assert run.status is RunStatus.SUCCEEDED
    assert [run.steps[name].status for name in (OHLCV, CHARTS, REPORT)] == ["SKIPPED"] * 3
    assert run.wake_at is None


def test_skipped_step_keeps_its_error_to_be_read() -> None:
    document = failed_run()
    error = after(document, skip(parsed(document), [OHLCV], T0)).steps[OHLCV].error
    assert error is not None
    assert error.code == "INVALID_STEP_INPUTS"


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "SKIPPED", "CANCELLED"])
def test_skip_of_a_step_that_began_and_did_not_fail_is_refused(status: str) -> None:
    with pytest.raises(Refused, match="only what failed or has not begun"):
        skip(parsed(a_run(ohlcv=status)), [OHLCV], T0)


def test_two_failures_of_different_kinds_are_settled_by_one_wish() -> None:
    hopeless = {"code": "INVALID_STRUCTURED_OUTPUT", "message": "no", "retryable": False}
    steps = {"x": a_step("X", "FAILED"), "y": a_step("Y", "FAILED", error=hopeless), "z": a_step("Z", "SUCCEEDED")}
    document = a_run("FAILED", steps=steps)
    for refused in (partial(retry, step_ids=["x"]), partial(skip, step_ids=["y"])):
        with pytest.raises(Refused, match="retry or skip them as well"):
            refused(parsed(document), now=T0)
    run = after(document, reopen(parsed(document), T0, retry=["x"], skip=["y"]))
    assert [step.status for step in run.steps.values()] == ["READY", "SKIPPED", "SUCCEEDED"]


def test_cancel_closes_what_has_not_begun() -> None:
    document = a_run(ohlcv="RUNNING")
    run = after(document, cancel(parsed(document), T0))
    assert run.cancel_requested
    assert run.status is RunStatus.CANCELLED
    assert [run.steps[name].status for name in (OHLCV, CHARTS, REPORT)] == ["RUNNING", "CANCELLED", "CANCELLED"]


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_cancel_of_a_finished_run_is_nothing(status: str) -> None:
    assert cancel(parsed(a_run(status)), T0) == NOTHING


@settings(max_examples=200)
@given(documents())
def test_every_wish_leaves_a_run_that_needs_no_second_look(document: Mapping[str, object]) -> None:
    run = parsed(document)
    wishes = [partial(cancel, run, T0)]
    wishes += [partial(wish, run, [name], T0) for wish in (retry, skip) for name in run.steps]
    for wish in wishes:
        try:
            patch = wish()
        except Refused:
            continue
        if not patch:
            continue
        result = after(document, patch)
        assert plan(result, T0) == NOTHING
        moved = [step for name, step in result.steps.items() if run.steps[name].status is not step.status]
        assert not [complaint for step in moved for complaint in broken_promises_of(step)]
        assert all(step.attempt >= run.steps[name].attempt for name, step in result.steps.items())
