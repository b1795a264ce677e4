"""What no event will do, for the runs that need it and at their cost alone."""

from datetime import timedelta

import pytest

from flowcore.domain.model import RunStatus, StepStatus
from flowcore.engine.sweep import SweepReport
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step
from flowcore.testing.world import T0
from tests.engine.stage import Denied, Stage, report_running, unavailable, with_step

LATE = T0 - timedelta(minutes=10)
READY_TOO_LONG = {"ohlcv": "READY", "at": LATE, "wakeAt": T0}


def test_ready_step_that_nobody_took_is_offered_again() -> None:  # F5
    stage = Stage()
    stage.put(a_run(**READY_TOO_LONG))  # type: ignore[arg-type]
    assert stage.sweep().minutely() == SweepReport(seen=1, changed=1, failed=0)
    assert stage.step(OHLCV).ready_at == T0
    assert stage.step(OHLCV).nudges == 1
    assert len(stage.runs.changes) == 2  # a fresh event
    assert stage.log.last("step_nudged")["nudges"] == 1


def test_step_that_no_worker_takes_ends_the_run() -> None:
    stage = Stage()
    stage.put(a_run("PENDING"))
    for _ in range(40):
        stage.sweep().minutely()
        stage.after(60)
    assert stage.run.status is RunStatus.FAILED
    assert stage.step(OHLCV).error is not None
    assert stage.step(OHLCV).nudges == 5


def test_expired_lease_goes_back_to_ready() -> None:  # F1
    stage = Stage()
    stage.put({**report_running(T0 - timedelta(seconds=840)), "wakeAt": T0})
    stage.sweep().minutely()
    assert stage.step().status is StepStatus.READY
    assert stage.step().lease is None
    assert stage.log.last("lease_lost")["losses"] == 1


def test_run_that_is_not_due_is_not_even_seen() -> None:  # F2
    stage = Stage()
    stage.put({**report_running(), "wakeAt": T0 + timedelta(seconds=840)})
    assert stage.sweep().minutely() == SweepReport(seen=0, changed=0, failed=0)
    assert stage.calls() == {"query": 1}


def test_due_runs_cost_no_read() -> None:
    stage = Stage()
    stage.put(a_run(**READY_TOO_LONG))  # type: ignore[arg-type]
    stage.sweep().minutely()
    assert stage.calls() == {"query": 1, "update": 1}


def test_new_run_whose_event_was_lost_is_started() -> None:
    stage = Stage()
    stage.put(a_run("PENDING"))
    stage.sweep().minutely()
    assert stage.run.status is RunStatus.RUNNING


def test_hourly_sweep_sees_runs_that_forgot_to_wake() -> None:
    stage = Stage()
    stage.put(a_run(ohlcv="RUNNING"))
    assert stage.sweep().minutely().seen == 0
    assert stage.sweep().hourly() == SweepReport(seen=1, changed=1, failed=0)
    assert stage.run.wake_at is not None


def test_hourly_sweep_leaves_finished_runs_alone() -> None:
    stage = Stage()
    stage.put(a_run("SUCCEEDED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED"))
    assert stage.sweep().hourly().seen == 0


def test_running_step_of_a_finished_run_is_ended() -> None:
    stage = Stage()
    stage.put({**report_running(T0 - timedelta(seconds=840)), "status": "CANCELLED", "wakeAt": T0})
    stage.sweep().minutely()
    assert stage.step().status is StepStatus.FAILED
    assert stage.run.wake_at is None


def test_live_worker_and_sweep_come_to_one_outcome() -> None:  # F4
    stage = Stage()
    stage.put({**report_running(T0 - timedelta(seconds=840)), "wakeAt": T0})
    outputs = {"gcs_uri": "gs://artifacts/just-in-time"}
    stage.runs.wire.before_next("update", lambda: stage.move(REPORT, status="SUCCEEDED", lease=None, outputs=outputs))
    stage.sweep().minutely()
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.step().outputs == outputs
    assert stage.run.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("error", [Denied(), unavailable()], ids=["refusal", "silence"])
def test_one_run_that_cannot_be_written_does_not_stop_the_rest(error: Exception) -> None:
    stage = Stage()
    for number in range(3):
        stage.put(a_run("PENDING", run_id=f"run-{number}"), f"run-{number}")
    stage.runs.wire.break_next("update", error, times=1 if isinstance(error, Denied) else 5)
    report = stage.sweep().minutely()
    assert (report.seen, report.changed, report.failed) == (3, 2, 1)
    assert stage.log.last("sweep_failed")["run_id"] == "run-0"
    assert stage.sweep().minutely().changed == 1


def test_broken_document_is_ended_and_the_rest_goes_on() -> None:
    stage = Stage()
    stage.put({"status": "PENDING", "steps": [1, 2]}, "run-0")
    stage.put({"status": "PENDING"}, "run-1")
    stage.put(a_run("PENDING", run_id="run-2"), "run-2")
    assert stage.sweep().minutely() == SweepReport(seen=3, changed=3, failed=0)
    statuses = {s.run_id: s.document["status"] for change in stage.runs.changes if (s := change.new)}
    assert statuses == {"run-0": "FAILED", "run-1": "FAILED", "run-2": "RUNNING"}


def test_sweep_stops_when_its_time_is_up_and_says_so() -> None:
    stage = Stage()
    for number in range(3):
        stage.put(a_run("PENDING", run_id=f"run-{number}"), f"run-{number}")
    stage.runs.wire.before_next("update", lambda: stage.after(100))
    assert stage.sweep(seconds=60).minutely() == SweepReport(seen=1, changed=1, failed=0, unfinished=True)
    assert stage.log.last("sweep_finished")["unfinished"] is True
    assert stage.sweep(seconds=60).minutely() == SweepReport(seen=2, changed=2, failed=0)


def test_run_deleted_meanwhile_is_nothing_to_sweep() -> None:
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.runs.wire.before_next("update", lambda: stage.runs.delete(event.run_id))
    assert stage.sweep().minutely() == SweepReport(seen=1, changed=0, failed=0)


def test_running_step_without_any_time_is_given_one() -> None:  # F3
    stage = Stage()
    stage.put(with_step(report_running(), REPORT, startedAt=None, lease=None))
    stage.sweep().hourly()
    assert stage.step().started_at == T0
    assert stage.run.wake_at == T0 + timedelta(seconds=840)
    stage.after(840)
    stage.sweep().minutely()
    assert stage.step().status is StepStatus.READY


def test_rest_that_is_over_ends_by_sweep_alone() -> None:
    stage = Stage()
    error = {"code": "CHART_API_FAILED", "message": "503", "retryable": True}
    step = a_step("CHART_EXPORT", "FAILED", error=error)
    stage.put(a_run(steps={CHARTS: step}, wakeAt=T0))
    stage.sweep().minutely()
    resting = stage.step(CHARTS)
    assert resting.status is StepStatus.PENDING
    assert resting.not_before is not None
    assert stage.run.wake_at == resting.not_before
    stage.after(16)
    stage.sweep().minutely()
    assert stage.step(CHARTS).status is StepStatus.READY
