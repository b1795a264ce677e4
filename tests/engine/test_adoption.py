"""A step whose worker vanished between its object and its last write: recorded by whoever finds the object."""

from datetime import timedelta

import pytest

from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code
from flowcore.domain.model import RunStatus, StepStatus
from flowcore.testing.builders import REPORT, a_run
from flowcore.testing.world import T0
from tests.engine.stage import (
    REPORT_OBJECT,
    Stage,
    event_of,
    metadata,
    report_ready,
    report_running,
    unavailable,
    with_step,
    without_payload,
)

FOUND = Artifact.json({"text": "left behind"}, execution={"model": "m-0"})


def left_behind(stage: Stage, **about: str) -> None:
    said = {**metadata(stage.step(), FOUND), **about}
    stage.artifacts._create(REPORT_OBJECT, FOUND.content, FOUND.content_type, said)


@pytest.mark.parametrize("age", [0, 29, 30])
def test_young_step_costs_no_call(age: int) -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=age)))
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.calls() == {}
    assert stage.step().status is StepStatus.RUNNING


def test_old_step_is_recorded_from_its_object() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.calls() == {"find": 1, "update": 1}
    assert stage.provider.calls == 0
    step = stage.step()
    assert step.status is StepStatus.SUCCEEDED
    assert step.outputs["execution"] == {
        "model": "m-0",
        "timing": {"startedAt": "2025-12-24T11:59:29Z", "finishedAt": "2025-12-24T12:00:00Z", "durationMs": 31000},
        "attempts": {"total": 1},
        "reused": True,
    }
    assert stage.log.last("step_adopted")["step_id"] == REPORT


def test_old_step_without_an_object_costs_one_look() -> None:
    stage = Stage()
    stage.worker().handle(stage.put(report_running(T0 - timedelta(seconds=31))))
    assert stage.calls() == {"find": 1}
    assert stage.step().status is StepStatus.RUNNING
    assert stage.log.last("event_noop")["reason"] == "step_running"


def test_step_that_does_not_say_since_when_it_runs_is_worth_a_look() -> None:
    stage = Stage()
    event = stage.put(with_step(report_running(), REPORT, startedAt=None))
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED


def test_event_without_payload_reads_and_adopts() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    left_behind(stage)
    stage.worker().handle(without_payload(event))
    assert stage.calls() == {"get": 1, "find": 1, "update": 1}
    assert stage.step().status is StepStatus.SUCCEEDED


def test_lost_claim_looks_at_once() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.put(report_running())
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.provider.calls == 0
    assert stage.step().status is StepStatus.SUCCEEDED


def test_pointer_that_was_lost_is_added_and_nothing_else() -> None:
    stage = Stage()
    document = a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED")
    event = stage.put(with_step(document, REPORT, outputs={"note": "kept"}))
    left_behind(stage)
    before = stage.step()
    stage.worker().handle(event)
    assert stage.step().outputs == {"note": "kept", "gcs_uri": f"gs://artifacts/{REPORT_OBJECT}"}
    assert stage.step().finished_at == before.finished_at


def test_adoption_that_lost_its_race_writes_nothing() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    left_behind(stage)
    theirs = {"gcs_uri": "gs://artifacts/theirs"}
    stage.runs.wire.before_next("update", lambda: stage.move(REPORT, status="SUCCEEDED", lease=None, outputs=theirs))
    stage.worker().handle(event)
    assert stage.step().outputs == theirs
    assert "step_adopted" not in stage.log.events()


def test_adoption_survives_an_unrelated_write() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    left_behind(stage)
    stage.runs.wire.before_next("update", stage.meddle)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED


@pytest.mark.parametrize("status", ["FAILED", "CANCELLED", "SKIPPED"])
def test_step_that_ended_otherwise_is_not_looked_for(status: str) -> None:
    stage = Stage()
    event = stage.put(a_run("FAILED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report=status))
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.calls() == {}


def test_somebody_elses_object_is_not_adopted_and_the_step_not_failed() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    left_behind(stage, step="another_step")
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.RUNNING  # only the holder may record FAILED
    assert stage.log.last("adoption_declined")["code"] == Code.GCS_WRITE_FAILED


def test_look_without_an_answer_leaves_the_step_to_its_lease() -> None:
    stage = Stage()
    event = stage.put(report_running(T0 - timedelta(seconds=31)))
    stage.artifacts.wire.break_next("find", unavailable(Code.GCS_READ_FAILED), times=1000)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.RUNNING
    assert len(stage.runs.changes) == 1


def test_step_of_a_cancelled_run_is_recorded_and_promotes_nothing() -> None:
    stage = Stage()
    event = stage.put({**report_running(T0 - timedelta(seconds=31)), "status": "CANCELLED", "cancelRequested": True})
    left_behind(stage)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.run.status is RunStatus.CANCELLED


def test_ready_step_comes_before_the_look() -> None:
    """One delivery, one look: a step that can be claimed is worth more than one that may be lost."""
    stage = Stage()
    document = report_running(T0 - timedelta(seconds=31))
    steps = document["steps"]
    assert isinstance(steps, dict)
    more = {**steps[REPORT], "status": "READY", "lease": None, "attempt": 0, "timeframe": "1W"}
    stage.put({**document, "steps": {**steps, "llm_report_1W": more}})
    left_behind(stage)
    stage.worker().handle(event_of(stage.snapshot))
    assert stage.provider.calls == 1
    assert stage.step("llm_report_1W").status is StepStatus.SUCCEEDED
    assert stage.step().status is StepStatus.RUNNING
