"""The orchestrator's answer to events: promoted once, re-decided after a lost race, silent when there is nothing."""

import pytest

from flowcore.domain.model import RunStatus, StepStatus
from flowcore.engine.update import Contended
from flowcore.testing.builders import CHARTS, OHLCV, a_run, a_step
from tests.engine.stage import Denied, Stage, event_of, unavailable, without_payload


def test_document_deleted_before_the_read_is_ignored() -> None:  # A15
    stage = Stage()
    stage.advance().handle(event_of(None))
    assert stage.calls() == {"get": 1}
    assert stage.log.last("event_ignored")["reason"] == "flow_run_not_found"


def test_document_deleted_before_the_write_is_ignored() -> None:  # A15
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.runs.delete(event.run_id)
    stage.advance().handle(event)
    assert stage.runs.changes[-1].new is None
    assert "event_ignored" in stage.log.events()


def test_same_event_five_times_promotes_once() -> None:  # A16
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    for _ in range(5):
        stage.advance().handle(event)
    assert len(stage.runs.changes) == 2
    assert stage.step(OHLCV).status is StepStatus.READY


def test_second_of_two_evaluators_finds_nothing_to_do() -> None:  # A17
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.runs.wire.before_next("update", lambda: stage.advance().handle(event))
    stage.advance().handle(event)
    assert len(stage.runs.changes) == 2
    assert stage.calls() == {"update": 2, "get": 1}
    assert stage.log.events().count("event_noop") == 1


def test_promotion_survives_an_unrelated_write() -> None:  # A18
    stage = Stage()
    event = stage.put(a_run(ohlcv="SUCCEEDED"))
    stage.runs.wire.before_next("update", stage.meddle)
    stage.advance().handle(event)
    assert stage.step(CHARTS).status is StepStatus.READY
    assert "touched" in stage.document


def test_decision_after_a_lost_race_is_a_new_one() -> None:
    stage = Stage()
    event = stage.put(a_run(ohlcv="SUCCEEDED"))
    stage.runs.wire.before_next("update", lambda: stage.meddle(cancelRequested=True))
    stage.advance().handle(event)
    assert stage.run.status is RunStatus.CANCELLED
    assert stage.step(CHARTS).status is StepStatus.CANCELLED


def test_created_document_starts_without_a_second_write() -> None:  # A19
    stage = Stage()
    stage.put(a_run("PENDING"))
    stage.deliver_all([stage.advance()])
    assert stage.run.status is RunStatus.RUNNING


def test_own_write_coming_back_writes_nothing() -> None:  # A21
    stage = Stage()
    stage.put(a_run("PENDING"))
    evaluations = stage.deliver_all([stage.advance()])
    assert evaluations == 2  # the creation, and the promotion that it caused
    assert stage.calls() == {"update": 1}


def test_promotion_and_noop_make_no_read() -> None:
    stage = Stage()
    stage.advance().handle(stage.put(a_run("PENDING")))
    stage.advance().handle(stage.event)
    assert stage.calls() == {"update": 1}


def test_event_without_payload_costs_one_read() -> None:
    stage = Stage()
    stage.advance().handle(without_payload(stage.put(a_run("PENDING"))))
    assert stage.calls() == {"get": 1, "update": 1}


def test_lost_reply_is_not_written_twice() -> None:
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    fault = stage.runs.wire.break_next("update", unavailable(), after_effect=True)
    stage.advance().handle(event)
    assert fault.fired == 1
    assert len(stage.runs.changes) == 2


def test_firestore_that_stays_silent_fails_the_invocation() -> None:
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.runs.wire.break_next("update", unavailable(), times=1000)
    with pytest.raises(type(unavailable())):
        stage.advance().handle(event)
    assert len(stage.runs.changes) == 1


def test_contention_without_end_fails_the_invocation_within_its_time() -> None:
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.meddle_for_ever()
    with pytest.raises(Contended):
        stage.advance().handle(event)
    assert stage.calls()["update"] == 8
    assert stage.clock.monotonic() < 60
    assert stage.step(OHLCV).status is StepStatus.PENDING


def test_refusal_is_not_repeated() -> None:
    stage = Stage()
    event = stage.put(a_run("PENDING"))
    stage.runs.wire.break_next("update", Denied())
    with pytest.raises(Denied):
        stage.advance().handle(event)
    assert stage.calls() == {"update": 1}


def test_every_move_is_one_log_line() -> None:
    stage = Stage()
    stage.advance().handle(stage.put(a_run("PENDING")))
    assert stage.log.lines == [
        ("INFO", "run_moved", {"run_id": stage.run.run_id, "event_id": "event-1", "status": "RUNNING"}),
        (
            "INFO",
            "step_moved",
            {"run_id": stage.run.run_id, "event_id": "event-1", "step_id": OHLCV, "status": "READY"},
        ),
    ]


def test_broken_document_is_logged_as_an_error() -> None:
    stage = Stage()
    stage.advance().handle(stage.put(a_run(steps={"a.b": a_step("HEATMAP")})))
    assert "run_invalid" in [event for severity, event, _ in stage.log.lines if severity == "ERROR"]
