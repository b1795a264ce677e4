"""Recording the result: by the holder, through any number of unrelated writes, and never over somebody else's."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from flowcore.domain.errors import Code, NetworkError, ValidationError
from flowcore.domain.model import RunStatus, StepStatus
from flowcore.engine.context import StepContext
from flowcore.engine.update import Contended
from flowcore.testing.builders import REPORT, RUN_ID
from flowcore.testing.world import T0, ManualClock
from tests.engine.stage import (
    REPORT_OBJECT,
    Denied,
    Inputs,
    Stage,
    report_ready,
    unavailable,
)


def test_success_records_timing_and_attempts() -> None:  # B20
    stage = Stage()
    stage.provider.meanwhile = lambda: stage.after(1.25)
    stage.worker().handle(stage.put(report_ready()))
    assert stage.step().outputs["gcs_uri"] == f"gs://artifacts/{REPORT_OBJECT}"
    assert stage.step().outputs["execution"] == {
        "model": "m-1",
        "timing": {
            "startedAt": "2025-12-24T12:00:00Z",
            "finishedAt": "2025-12-24T12:00:01.250000Z",
            "durationMs": 1250,
        },
        "attempts": {"total": 1},
    }
    assert stage.log.last("step_succeeded")["reused"] is False


def test_somebody_elses_success_is_not_overwritten() -> None:  # B13
    stage = Stage()
    outputs = {"gcs_uri": "gs://artifacts/theirs"}
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.move(REPORT, status="SUCCEEDED", lease=None, outputs=outputs)
    stage.worker().handle(event)
    assert stage.step().outputs == outputs
    assert stage.log.last("event_noop")["code"] == Code.STEP_FINALIZE_CONFLICT


def test_result_lands_through_thirty_unrelated_writes() -> None:  # B14
    stage = Stage()
    event = stage.put(report_ready())

    def interrupt() -> None:
        for _ in range(30):
            stage.runs.wire.before_next("update", stage.meddle)

    stage.provider.meanwhile = interrupt
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.log.last("step_succeeded")["conflicts"] == 30
    assert stage.provider.calls == 1


def test_finalize_tries_until_its_time_is_used_up() -> None:  # B14
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = stage.meddle_for_ever
    with pytest.raises(Contended):
        stage.worker().handle(event)
    used = stage.clock.monotonic()
    assert stage.budget.invocation - 6 < used < stage.budget.invocation
    assert stage.log.last("finalize_failed")["code"] == Code.FIRESTORE_FINALIZE_FAILED
    assert stage.step().lease is not None


def test_silence_is_tried_again_without_paying_again() -> None:  # B15
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.runs.wire.break_next("update", unavailable(), times=2)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.provider.calls == 1
    assert stage.artifacts.wire.calls["create"] == 1


def test_long_silence_at_the_last_write_is_outlasted() -> None:  # B14
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.runs.wire.break_next("update", unavailable(), times=6)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.provider.calls == 1


def test_reply_lost_after_the_write_landed_writes_nothing_more() -> None:  # B15
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.runs.wire.break_next("update", unavailable(), after_effect=True)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert len(stage.runs.changes) == 3


@pytest.mark.parametrize("error", [unavailable(), Denied()], ids=["silence", "refusal"])
def test_redelivery_records_what_could_not_be_recorded(error: Exception) -> None:  # B16, B7
    stage = Stage()
    event = stage.put(report_ready())
    faults = []
    stage.provider.meanwhile = lambda: faults.append(stage.runs.wire.break_next("update", error, times=1000))
    with pytest.raises(type(error)):
        stage.worker().handle(event)
    assert stage.log.last("finalize_failed")["code"] == Code.FIRESTORE_FINALIZE_FAILED
    assert stage.step().lease is not None
    assert len(stage.artifacts.objects) == 1

    faults[0].times = 0
    stage.worker().handle(event)
    assert stage.provider.calls == 1
    assert stage.step().status is StepStatus.SUCCEEDED
    execution = stage.step().outputs["execution"]
    assert isinstance(execution, dict)
    assert (execution["reused"], execution["model"]) == (True, "m-1")


def test_step_cancelled_while_at_work_takes_no_result() -> None:  # B17
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.move(REPORT, status="CANCELLED", lease=None)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.CANCELLED
    assert stage.step().outputs == {}


def test_run_cancelled_while_at_work_records_the_step_and_promotes_nothing() -> None:
    stage = Stage()
    event = stage.put(report_ready())

    def cancel() -> None:
        stage.meddle(cancelRequested=True)
        stage.advance().handle(stage.event)

    stage.provider.meanwhile = cancel
    stage.worker().handle(event)
    stage.advance().handle(stage.event)
    assert stage.run.status is RunStatus.CANCELLED
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.run.wake_at is None


def test_failure_carries_code_details_and_evidence() -> None:
    stage = Stage()
    evidence = f"gs://artifacts/charts/{RUN_ID}/{REPORT}/manifest.attempt-1.json"

    def fail(context: StepContext, inputs: Inputs) -> object:
        raise ValidationError(
            Code.INVALID_STEP_INPUTS,
            "steps.x.inputs.y: cannot be\nused",
            details={"reason": "no_rows"},
            outputs={"outputsManifestGcsUri": evidence},
        )

    stage.worker(execute=fail).handle(stage.put(report_ready()))  # type: ignore[arg-type]
    step = stage.step()
    assert step.status is StepStatus.FAILED
    assert step.error is not None
    assert (step.error.code, step.error.message) == (Code.INVALID_STEP_INPUTS, "steps.x.inputs.y: cannot be used")
    assert step.error.details == {"reason": "no_rows"}
    assert step.outputs == {"outputsManifestGcsUri": evidence}
    assert step.failures == 1
    assert stage.log.last("step_failed")["code"] == Code.INVALID_STEP_INPUTS


def test_unforeseen_exception_is_internal_and_keeps_its_words_to_itself() -> None:
    stage = Stage()

    def explode(context: StepContext, inputs: Inputs) -> object:
        raise KeyError("the prompt said: hunter2")

    stage.worker(execute=explode).handle(stage.put(report_ready()))  # type: ignore[arg-type]
    assert stage.step().error is not None
    assert "hunter2" not in str(stage.document)
    crashed = stage.log.last("step_crashed")
    assert isinstance(crashed["exc_info"], KeyError)


@pytest.mark.parametrize(
    "odd", [{1, 2}, object(), Decimal("1.5"), [[1], [2]], 10**400], ids=lambda odd: type(odd).__name__
)
def test_failure_with_details_that_cannot_be_stored_is_still_recorded(odd: object) -> None:
    """Otherwise every write would fail, and the step would lose its leases with its real error untold."""
    stage = Stage()

    def fail(context: StepContext, inputs: Inputs) -> object:
        raise ValidationError(Code.INVALID_STEP_INPUTS, "words", details={"odd": odd}, outputs={"odd": odd})

    stage.worker(execute=fail).handle(stage.put(report_ready()))  # type: ignore[arg-type]
    assert stage.step().error is not None
    assert stage.step().status is StepStatus.FAILED


def test_document_deleted_while_at_work_is_no_failure() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.runs.delete(RUN_ID)
    stage.worker().handle(event)
    assert stage.runs.changes[-1].new is None


def test_zombie_finalizes_to_nothing() -> None:
    stage = Stage()
    event = stage.put(report_ready())

    # Sweep's clock is ahead by more than we promise to survive: the lease ends while its holder is alive.
    ahead = replace(stage, clock=ManualClock(T0 + timedelta(seconds=841)))
    stage.provider.meanwhile = ahead.sweep().minutely
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.READY
    assert stage.step().lease_losses == 1

    stage.provider.meanwhile = lambda: None
    stage.worker().handle(stage.event)
    assert stage.provider.calls == 1  # the zombie's object is the result of the next attempt
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.step().attempt == 2


def test_exception_after_the_claim_is_never_silence() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.runs.wire.break_next("update", unavailable(), times=1000)
    with pytest.raises(NetworkError):
        stage.worker().handle(event)
    stage.runs.wire.faults.clear()
    stage.artifacts.objects.clear()  # worst case: the object never made it
    stage.after(841)
    stage.sweep().minutely()
    assert stage.step().status is StepStatus.READY
