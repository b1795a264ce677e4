"""A worker's side: who may take a step, who holds it, and who may record its end."""

from datetime import timedelta

import pytest

from flowcore.domain.errors import Code, StepError
from flowcore.domain.lifecycle import (
    ADOPTION_GRACE,
    adopt,
    adoptable,
    claim,
    claimable,
    finalize,
    held,
)
from flowcore.domain.model import StepStatus
from flowcore.domain.moves import KEPT_ATTEMPTS, Failed, Succeeded, with_attempt_kept
from flowcore.domain.patch import NOTHING, apply
from flowcore.domain.plan import CLOCK_SKEW
from flowcore.testing.builders import CHARTS, HOLDER, OHLCV, REPORT, a_run, a_step, parsed
from flowcore.testing.world import T0

TTL = timedelta(seconds=600)
DONE = Succeeded("gs://artifacts/x")
FAILURE = Failed(StepError(Code.GCS_WRITE_FAILED, "503", True))


def test_margins_are_those_of_the_state_machine() -> None:
    assert timedelta(seconds=60) == CLOCK_SKEW
    assert timedelta(seconds=30) == ADOPTION_GRACE


@pytest.mark.parametrize("status", ["PENDING", "SUCCEEDED", "FAILED", "CANCELLED"])
def test_claim_requires_a_running_run(status: str) -> None:
    assert claimable(parsed(a_run(status, ohlcv="READY")), "OHLCV_EXPORT") is None


def test_claim_requires_a_run_that_is_wanted_and_sound() -> None:
    assert claimable(parsed(a_run(ohlcv="READY")), "OHLCV_EXPORT") is not None
    assert claimable(parsed(a_run(ohlcv="READY", cancelRequested=True)), "OHLCV_EXPORT") is None
    assert claimable(parsed(a_run(ohlcv="READY", scope="broken")), "OHLCV_EXPORT") is None


@pytest.mark.parametrize("status", ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"])
def test_only_ready_can_be_claimed(status: str) -> None:
    assert claimable(parsed(a_run(ohlcv=status)), "OHLCV_EXPORT") is None


def test_claim_of_a_token_that_holds_something_is_nothing() -> None:
    """After a lost reply the claim is decided again, and must not take a second step."""
    steps = {"a": a_step("X", "RUNNING"), "b": a_step("X", "READY")}
    assert claim(parsed(a_run(steps=steps)), "X", HOLDER, T0, TTL) == NOTHING
    assert claim(parsed(a_run(steps=steps)), "X", "another", T0, TTL)


def test_holder_is_whoever_has_the_token_of_a_running_step() -> None:
    run = parsed(a_run(ohlcv="RUNNING"))
    assert held(run, HOLDER) is run.steps[OHLCV]
    assert held(run, "another") is None
    lease = {"token": HOLDER, "expiresAt": "2025-12-24T12:10:00Z"}
    assert held(parsed(a_run(steps={"a": a_step("X", "READY", lease=lease)})), HOLDER) is None


@pytest.mark.parametrize("outcome", [DONE, FAILURE], ids=["success", "failure"])
def test_only_the_holder_records(outcome: Succeeded | Failed) -> None:
    run = parsed(a_run(ohlcv="RUNNING"))
    assert finalize(run, "another", outcome, T0) == NOTHING
    assert finalize(run, HOLDER, outcome, T0)


@pytest.mark.parametrize("outcome", [DONE, FAILURE], ids=["success", "failure"])
def test_recording_twice_is_recording_once(outcome: Succeeded | Failed) -> None:
    document = a_run(ohlcv="RUNNING")
    once = apply(document, finalize(parsed(document), HOLDER, outcome, T0))
    assert finalize(parsed(once), HOLDER, outcome, T0) == NOTHING
    assert finalize(parsed(once), HOLDER, DONE, T0) == NOTHING


def test_holder_records_even_after_its_lease_ended() -> None:
    """Nobody has taken the step away yet, so the result is still welcome."""
    run = parsed(a_run(ohlcv="RUNNING"))
    assert finalize(run, HOLDER, DONE, T0 + timedelta(days=1))


def test_failure_counts_and_success_does_not() -> None:
    document = a_run(ohlcv="RUNNING")
    failed = parsed(apply(document, finalize(parsed(document), HOLDER, FAILURE, T0))).steps[OHLCV]
    succeeded = parsed(apply(document, finalize(parsed(document), HOLDER, DONE, T0))).steps[OHLCV]
    assert (failed.failures, succeeded.failures) == (1, 0)
    assert (failed.attempt, succeeded.attempt) == (1, 1)


@pytest.mark.parametrize(("seconds", "expected"), [(0, None), (30, None), (31, OHLCV)])
def test_running_step_is_looked_after_once_the_grace_is_over(seconds: int, expected: str | None) -> None:
    run = parsed(a_run(ohlcv="RUNNING"))
    found = adoptable(run, "OHLCV_EXPORT", T0 + timedelta(seconds=seconds))
    assert (found.step_id if found else None) == expected


def test_lost_worker_is_more_urgent_than_a_lost_pointer() -> None:
    steps = {"a": a_step("X", "SUCCEEDED", outputs={}), "b": a_step("X", "RUNNING")}
    found = adoptable(parsed(a_run(steps=steps)), "X", T0 + timedelta(seconds=31))
    assert found is not None
    assert found.step_id == "b"


def test_adoption_looks_only_at_its_own_type() -> None:
    run = parsed(a_run(ohlcv="RUNNING"))
    assert adoptable(run, "CHART_EXPORT", T0 + timedelta(days=1)) is None


@pytest.mark.parametrize("status", ["PENDING", "READY", "FAILED", "SKIPPED", "CANCELLED"])
def test_step_that_is_not_running_is_not_adopted(status: str) -> None:
    run = parsed(a_run(ohlcv=status))
    assert adoptable(run, "OHLCV_EXPORT", T0 + timedelta(days=1)) is None
    assert adopt(run, OHLCV, DONE, T0) == NOTHING


def test_adoption_of_an_unknown_step_is_nothing() -> None:
    assert adopt(parsed(a_run()), "nobody", DONE, T0) == NOTHING


def test_success_with_a_pointer_is_left_alone() -> None:
    run = parsed(a_run(ohlcv="SUCCEEDED"))
    assert adoptable(run, "OHLCV_EXPORT", T0 + timedelta(days=1)) is None
    assert adopt(run, OHLCV, DONE, T0) == NOTHING


def test_evidence_of_failed_attempts_is_bounded() -> None:
    step = parsed(a_run(ohlcv="FAILED")).steps[OHLCV]
    for _ in range(50):
        step = with_attempt_kept(step)
    assert len(step.attempts) == KEPT_ATTEMPTS


def test_claims_come_in_the_order_of_the_step_ids() -> None:
    steps = {name: a_step("X", "READY") for name in ("s10", "s2", "s1")}
    assert claimable(parsed(a_run(steps=steps)), "X") == parsed(a_run(steps=steps)).steps["s1"]


def test_worker_never_moves_another_step() -> None:
    document = a_run(ohlcv="SUCCEEDED", charts="RUNNING")
    after = parsed(apply(document, finalize(parsed(document), HOLDER, DONE, T0)))
    assert after.steps[CHARTS].status is StepStatus.SUCCEEDED
    assert after.steps[REPORT].status is StepStatus.PENDING  # promoted by the orchestrator alone
    assert after.status == parsed(document).status
