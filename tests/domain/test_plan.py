"""What `plan` promises for any run at any time; row by row it is told in spec/vectors."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings

from flowcore.domain.model import Run, RunStatus, StepStatus
from flowcore.domain.patch import NOTHING, apply
from flowcore.domain.plan import plan, settled, wake_at
from flowcore.domain.times import to_text
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step, parsed
from flowcore.testing.world import T0
from tests.domain.promises import broken_promises_of
from tests.domain.strategies import documents, moments

Document = Mapping[str, object]


def planned(document: Document, now: datetime) -> dict[str, object]:
    return apply(document, plan(parsed(document), now))


# --- for any run, at any time ---


@settings(max_examples=300)
@given(documents(), moments())
def test_planning_again_gives_nothing(document: Document, now: datetime) -> None:
    assert plan(parsed(planned(document, now)), now) == NOTHING


@settings(max_examples=200)
@given(documents(), moments())
def test_patch_says_what_was_decided(document: Document, now: datetime) -> None:
    decided = settled(parsed(document), now)
    assert parsed(planned(document, now)) == replace(decided, wake_at=wake_at(decided, now))


@settings(max_examples=300)
@given(documents(), moments())
def test_run_wakes_later_than_now_or_never(document: Document, now: datetime) -> None:
    after = parsed(planned(document, now))
    at_rest = after.status.finished and not after.in_status(StepStatus.RUNNING)
    if at_rest:
        assert after.wake_at is None
    else:
        assert after.wake_at is not None
        assert after.wake_at > now


@settings(max_examples=150)
@given(documents(), moments())
def test_run_that_only_the_clock_looks_after_comes_to_its_end(document: Document, now: datetime) -> None:
    """No worker, no event: whoever follows `wakeAt` ends the run, and nothing is left waiting in it."""
    run = parsed(document := planned(document, now))
    for _ in range(400):
        if run.wake_at is None:
            break
        run = parsed(document := planned(document, run.wake_at))
    assert run.status.finished
    assert not run.in_status(StepStatus.PENDING, StepStatus.READY, StepStatus.RUNNING)


@settings(max_examples=300)
@given(documents(), moments())
def test_every_move_is_one_that_the_orchestrator_may_make(document: Document, now: datetime) -> None:
    before, after = parsed(document), parsed(planned(document, now))
    for name, step in after.steps.items():
        was = before.steps[name]
        assert step.attempt == was.attempt, "only a claim counts attempts"
        assert step.failures == was.failures, "only a worker's word is a failure"
        assert step.lease_losses in (was.lease_losses, was.lease_losses + 1)
        if was.status is step.status:
            continue
        assert (was.status, step.status) in MOVES
        assert not list(broken_promises_of(step))
        if step.status is StepStatus.READY:
            assert after.dependencies_succeeded(step)
            assert not after.status.finished


P, R, W, F = StepStatus.PENDING, StepStatus.READY, StepStatus.RUNNING, StepStatus.FAILED
# Promotion; a lost lease; no worker; a retry, at rest or due at once; READY by hand; what can never run; cancel.
MOVES = {(P, R), (W, R), (W, P), (W, F), (R, F), (F, P), (F, R), (R, P)}
MOVES |= {(was, StepStatus.SKIPPED) for was in (P, R, W, F)} | {(was, StepStatus.CANCELLED) for was in (P, R)}


@settings(max_examples=200)
@given(documents(), moments())
def test_finished_run_keeps_its_status(document: Document, now: datetime) -> None:
    before, after = parsed(document), parsed(planned(document, now))
    if before.status.finished:
        assert after.status is before.status
        assert after.finished_at == (before.finished_at or now)


@settings(max_examples=200)
@given(documents(), moments())
def test_run_that_ends_says_when_and_leaves_nothing_waiting(document: Document, now: datetime) -> None:
    after = parsed(planned(document, now))
    assert (after.finished_at is not None) or not after.status.finished
    if after.status.finished:
        assert not after.in_status(StepStatus.PENDING, StepStatus.READY)


@settings(max_examples=200)
@given(documents(), moments())
def test_success_is_what_the_state_machine_calls_success(document: Document, now: datetime) -> None:
    before, after = parsed(document), parsed(planned(document, now))
    if before.status.finished or after.status is not RunStatus.SUCCEEDED:
        return
    for step in after.steps.values():
        fine = step.status in (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
        assert fine or (step.status is StepStatus.FAILED and step.optional)


@settings(max_examples=100)
@given(documents(), moments())
def test_plan_leaves_its_input_alone(document: Document, now: datetime) -> None:
    run, copy = parsed(document), parsed(document)
    plan(run, now)
    assert run == copy


# --- the rows, where a story tells more than a property ---


def after_plan(document: Document, now: datetime = T0) -> Run:
    return parsed(planned(document, now))


def test_first_look_starts_the_run_in_one_patch() -> None:
    patch = plan(parsed(a_run("PENDING")), T0)
    assert set(patch.changes) == {"status", f"steps.{OHLCV}.status", f"steps.{OHLCV}.readyAt", "wakeAt", "updatedAt"}


@pytest.mark.parametrize("status", ["FAILED", "SKIPPED", "CANCELLED", "RUNNING", "READY", "PENDING"])
def test_nothing_but_succeeded_satisfies_a_dependency(status: str) -> None:
    after = after_plan(a_run(steps={"a": a_step("X", status), "b": a_step("X", depends_on=["a"])}))
    assert after.steps["b"].status is not StepStatus.READY


def test_cancel_is_told_from_success_by_the_steps_alone() -> None:
    done = a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED", cancelRequested=True)
    nearly = a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED", report="READY", cancelRequested=True)
    assert after_plan(done).status is RunStatus.SUCCEEDED
    assert after_plan(nearly).status is RunStatus.CANCELLED
    assert after_plan(nearly).steps[REPORT].status is StepStatus.CANCELLED


@pytest.mark.parametrize(("step_type", "forgiven"), [("LLM_REPORT", 1), ("CHART_EXPORT", 3), ("HEATMAP", 3)])
def test_lost_leases_are_forgiven_as_often_as_the_state_machine_says(step_type: str, forgiven: int) -> None:
    late = T0 + timedelta(seconds=600)
    for losses in range(5):
        step = a_step(step_type, "RUNNING", timeframe="1M", leaseLosses=losses)
        after = after_plan(a_run(steps={"a": step}), late).steps["a"]
        assert after.status is (StepStatus.READY if losses < forgiven else StepStatus.FAILED)
        assert after.lease_losses == losses + 1


def test_lost_lease_is_not_a_failed_attempt() -> None:
    step = a_step("HEATMAP", "RUNNING", failures=2)
    after = after_plan(a_run(steps={"a": step}), T0 + timedelta(seconds=600)).steps["a"]
    assert (after.status, after.failures) == (StepStatus.READY, 2)


def test_nudge_changes_the_document() -> None:
    """A write that changes nothing makes no event, and the step would wait on."""
    document = a_run(ohlcv="READY")
    later = T0 + timedelta(seconds=300)
    assert planned(document, later)["steps"] != document["steps"]
    assert after_plan(document, later).steps[OHLCV].ready_at == later


@pytest.mark.parametrize(
    ("worker", "began", "given_up"),
    [
        ("HEATMAP", timedelta(seconds=1), False),
        ("HEATMAP", timedelta(seconds=-59), False),  # since, by a clock that is late
        ("HEATMAP", timedelta(seconds=-60), True),  # before: it may be gone by now
        ("OHLCV_EXPORT", timedelta(seconds=1), True),
    ],
)
def test_step_that_only_waits_behind_others_is_not_given_up(worker: str, began: timedelta, *, given_up: bool) -> None:
    """Each offer is one event, and with every other event lost it brings one worker, which takes one step."""
    steps = {
        "a": a_step(worker, "SUCCEEDED", startedAt=to_text(T0 + began)),
        "b": a_step("HEATMAP", "READY", nudges=5),
    }
    after = after_plan(a_run(steps=steps), T0 + timedelta(seconds=300)).steps["b"]
    assert (after.status, after.nudges) == ((StepStatus.FAILED, 5) if given_up else (StepStatus.READY, 0))


def test_steps_are_decided_in_the_order_of_their_ids_whatever_the_document_says() -> None:
    steps = {name: a_step("HEATMAP") for name in ("zeta", "alpha", "mid")}
    paths = [path for path in plan(parsed(a_run(steps=steps)), T0).changes if path.endswith(".status")]
    assert paths == ["steps.alpha.status", "steps.mid.status", "steps.zeta.status"]


def test_clock_that_runs_backwards_promotes_nothing_early() -> None:
    resting = a_step("HEATMAP", notBefore="2025-12-24T12:00:10Z")
    after = after_plan(a_run(steps={"a": resting}), T0 - timedelta(days=1))
    assert after.steps["a"].status is StepStatus.PENDING


def test_retry_and_failure_of_different_steps_at_once_fail_the_run() -> None:
    rate_limited = {"code": "RATE_LIMITED", "message": "429", "retryable": True}
    steps = {"a": a_step("X", "FAILED", error=rate_limited), "b": a_step("X", "FAILED")}
    after = after_plan(a_run(steps=steps))
    assert after.status is RunStatus.FAILED


def test_charts_wait_for_candles() -> None:
    assert after_plan(a_run(ohlcv="RUNNING")).steps[CHARTS].status is StepStatus.PENDING
    assert after_plan(a_run(ohlcv="SUCCEEDED")).steps[CHARTS].status is StepStatus.READY


@pytest.mark.parametrize(("dependency", "becomes"), [("RUNNING", "PENDING"), ("SKIPPED", "SKIPPED")])
def test_ready_by_hand_before_its_time_is_taken_back(dependency: str, becomes: str) -> None:
    document = a_run(ohlcv=dependency, charts="READY", report="PENDING")
    assert parsed(planned(document, T0)).steps[CHARTS].status == becomes


@pytest.mark.parametrize("field", ["outputs", "details"])
def test_a_failed_attempt_is_kept_however_deep_a_stranger_has_nested_it(field: str) -> None:
    """It moves two levels down, and Firestore refuses what is deeper than twenty: the run would be stuck."""
    deep: dict[str, object] = {}
    for _ in range(16):
        deep = {"a": deep}
    error = {"code": "RATE_LIMITED", "message": "429", "retryable": True}
    odd = {"outputs": deep} if field == "outputs" else {"error": {**error, "details": deep}}
    step = {**a_step("X", "FAILED", error=error), **odd}
    assert _depth(planned(a_run(steps={"a": step}), T0)) <= 20


def _depth(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)
