"""Every line of a worker may be its last: whatever breaks, wherever, the run still comes to its end."""

from collections.abc import Callable

import pytest

from flowcore.domain.errors import REGISTRY, Code
from flowcore.domain.model import RunStatus, StepStatus
from flowcore.testing.faults import Wire
from tests.domain.promises import broken_promises
from tests.engine.stage import Crash, Denied, Stage, report_ready, unavailable

POINTS = ("claim", "look", "pay", "store", "record")
CODES = {"look": Code.GCS_READ_FAILED, "store": Code.GCS_WRITE_FAILED, "pay": Code.GEMINI_REQUEST_FAILED}
BREAKS: dict[str, Callable[[Wire, str, BaseException], object]] = {
    "once": lambda wire, method, error: wire.break_next(method, error),  # type: ignore[arg-type]
    "for ever": lambda wire, method, error: wire.break_next(method, error, times=10**6),  # type: ignore[arg-type]
    "after the effect": lambda wire, method, error: wire.break_next(
        method,
        error,  # type: ignore[arg-type]
        after_effect=True,
    ),
}


def sabotage(stage: Stage, point: str, how: str, error: BaseException) -> None:
    def fail() -> None:
        raise error

    match point:
        case "claim":
            BREAKS[how](stage.runs.wire, "update", error)
        case "look":
            BREAKS[how](stage.artifacts.wire, "find", error)
        case "pay":
            stage.provider.meanwhile = fail
        case "store":
            BREAKS[how](stage.artifacts.wire, "create", error)
        case "record":
            stage.provider.meanwhile = lambda: BREAKS[how](stage.runs.wire, "update", error)


def mend(stage: Stage) -> None:
    stage.runs.wire.faults.clear()
    stage.artifacts.wire.faults.clear()
    stage.provider.meanwhile = lambda: None


def go_on_until_finished(stage: Stage) -> None:
    """Events are delivered and the minutes pass."""
    seen = 0
    for _ in range(120):
        seen = stage.deliver_all(stage.everybody(), seen)
        if stage.run.status.finished and not stage.run.in_status(StepStatus.RUNNING):
            return
        stage.after(60)
        stage.sweep().minutely()
    pytest.fail(f"the run is still {stage.run.status} after two hours")


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("kind", ["silence", "refusal", "crash"])
@pytest.mark.parametrize("point", POINTS)
def test_whatever_breaks_the_run_comes_to_its_end(point: str, kind: str, how: str) -> None:  # B19
    errors = {
        "silence": unavailable(CODES.get(point, Code.FIRESTORE_UNAVAILABLE)),
        "refusal": Denied(),
        "crash": Crash(),
    }
    stage = Stage()
    event = stage.put(report_ready())
    sabotage(stage, point, how, errors[kind])
    try:
        stage.worker().handle(event)
    except (Denied, Crash, type(unavailable())):
        outcome = "the invocation failed"
    else:
        outcome = "the invocation ended well"
    assert not broken_promises(stage.run), "a RUNNING step has its lease, whatever happened"
    if outcome == "the invocation ended well":
        assert stage.step().status in (StepStatus.SUCCEEDED, StepStatus.FAILED)

    mend(stage)
    stage.worker().handle(event)
    go_on_until_finished(stage)
    step = stage.step()
    assert not broken_promises(stage.run)
    assert stage.provider.calls <= step.attempt
    if stage.run.status is RunStatus.FAILED:
        assert step.error is not None
        assert step.error.code in REGISTRY
        assert kind == "refusal"  # only what no retry would mend may end the run
    else:
        assert stage.run.status is RunStatus.SUCCEEDED
        assert len(stage.artifacts.objects) == 1


@pytest.mark.parametrize("point", ["store", "record"])
def test_what_was_stored_is_not_paid_for_again(point: str) -> None:
    stage = Stage()
    event = stage.put(report_ready())
    sabotage(stage, point, "after the effect", Crash())
    with pytest.raises(Crash):
        stage.worker().handle(event)
    mend(stage)
    go_on_until_finished(stage)
    assert stage.provider.calls == 1
    assert stage.run.status is RunStatus.SUCCEEDED


def test_crash_between_answer_and_object_repeats_the_call_once_per_lost_lease() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    sabotage(stage, "store", "once", Crash())
    with pytest.raises(Crash):
        stage.worker().handle(event)
    mend(stage)
    go_on_until_finished(stage)
    assert stage.provider.calls == 2
    assert (stage.step().attempt, stage.step().lease_losses) == (2, 1)
    assert stage.step().attempts[0]["attempt"] == 1  # and it is recorded


def test_worker_that_always_crashes_ends_the_run_after_one_successor() -> None:
    stage = Stage()
    stage.put(report_ready())

    def crash() -> None:
        raise Crash

    stage.provider.meanwhile = crash
    for _ in range(60):
        if stage.run.status.finished:
            break
        try:
            stage.worker().handle(stage.event)
        except Crash:
            stage.after(841)
        stage.sweep().minutely()
    assert stage.run.status is RunStatus.FAILED
    assert stage.step().error is not None
    assert stage.step().lease_losses == 2
    assert stage.provider.calls == 2


def test_step_that_always_fails_is_tried_as_often_as_it_may() -> None:
    stage = Stage()
    stage.put(report_ready())

    def fail() -> None:
        raise unavailable(Code.GEMINI_REQUEST_FAILED)

    stage.provider.meanwhile = fail
    go_on_until_finished(stage)
    assert stage.run.status is RunStatus.FAILED
    assert stage.provider.calls == 3
    assert (stage.step().attempt, stage.step().failures) == (3, 3)
    assert [entry["attempt"] for entry in stage.step().attempts] == [1, 2]


def test_run_without_any_event_is_carried_by_sweep_to_every_worker() -> None:
    """All events of the orchestrator are lost; the workers' own come through."""
    stage = Stage()
    stage.put({**report_ready(), "status": "PENDING"})
    seen = 0
    for _ in range(60):
        stage.sweep().minutely()
        seen = stage.deliver_all([stage.worker()], seen)
        stage.after(61)
    assert stage.run.status is RunStatus.SUCCEEDED
