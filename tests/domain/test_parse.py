"""The door: whatever the document says, there is a run behind it, and a path to what is wrong with it."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings

from flowcore.domain.errors import Code
from flowcore.domain.model import RunStatus, StepStatus
from flowcore.domain.parse import parse_run, size_of
from flowcore.domain.patch import NOTHING, apply
from flowcore.domain.plan import plan
from flowcore.testing.builders import OHLCV, RUN_ID, a_run, a_snapshot, a_step, parsed
from flowcore.testing.world import T0
from tests.domain.strategies import documents, garbage_documents

Document = Mapping[str, object]


def deep(levels: int) -> object:
    value: object = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"runId": "another"}, "runId"),
        ({"runId": 7}, "runId"),
        ({"status": "DONE"}, "status"),
        ({"status": ["RUNNING"]}, "status"),
        ({"cancelRequested": "yes"}, "cancelRequested"),
        ({"cancelRequested": 1}, "cancelRequested"),
        ({"scope": "BTCUSDT"}, "scope"),
        ({"steps": None}, "steps"),
        ({"steps": []}, "steps"),
        ({"steps": {}}, "steps"),
        ({"steps": {"": a_step("X")}}, "steps"),
        ({"steps": {"x" * 129: a_step("X")}}, "steps"),
        ({"steps": {"__x__": a_step("X")}}, "steps"),
        ({"steps": {"ohlcv_\u202ev1": a_step("X")}}, "steps"),
        ({"steps": {"ohlcv\u200b_v1": a_step("X")}}, "steps"),
        ({"steps": {" x": a_step("X")}}, "steps"),
        ({"steps": {"x\n": a_step("X")}}, "steps"),
        ({"steps": {"x\ud800": a_step("X")}}, "steps"),
        ({"steps": {f"s{number}": a_step("X") for number in range(201)}}, "steps"),
        ({"padding": "x" * 200_000}, "(document)"),
        ({"steps": {"a": 1}}, "steps.a"),
        ({"steps": {"a": a_step("X"), "b": a_step("X", depends_on=["a", "z"])}}, "steps.b.dependsOn[1]"),
        ({"steps": {"a": a_step("X", depends_on=["a"])}}, "steps.a.dependsOn"),
    ],
)
def test_run_says_where_it_is_broken(changed: dict[str, object], path: str) -> None:
    run = parsed({**a_run(), **changed})
    assert run.defect is not None
    assert run.defect.path == path


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"stepType": None}, "stepType"),
        ({"stepType": ""}, "stepType"),
        ({"stepType": 3}, "stepType"),
        ({"status": None}, "status"),
        ({"status": "ready"}, "status"),
        ({"dependsOn": "b"}, "dependsOn"),
        ({"dependsOn": [1]}, "dependsOn"),
        ({"dependsOn": {"b": True}}, "dependsOn"),
        ({"optional": "true"}, "optional"),
        ({"inputs": []}, "inputs"),
        ({"outputs": "gs://x"}, "outputs"),
        ({"retry": 3}, "retry"),
        ({"retry": {"maxAttempts": 0}}, "retry.maxAttempts"),
        ({"retry": {"maxAttempts": 2.0}}, "retry.maxAttempts"),
        ({"attempt": -1}, "attempt"),
        ({"attempt": True}, "attempt"),
        ({"failures": "2"}, "failures"),
        ({"leaseLosses": 0.5}, "leaseLosses"),
        ({"nudges": -1}, "nudges"),
        ({"readyAt": "today"}, "readyAt"),
        ({"readyAt": 0}, "readyAt"),
        ({"notBefore": "2025-12-24T12:00:00"}, "notBefore"),
        ({"startedAt": "9999-12-31T23:59:59Z"}, "startedAt"),
        ({"lease": "mine"}, "lease"),
        ({"lease": {"expiresAt": "2025-12-24T12:00:00Z"}}, "lease"),
        ({"lease": {"token": "t"}}, "lease.expiresAt"),
        ({"lease": {"token": "t", "expiresAt": "later"}}, "lease.expiresAt"),
    ],
)
def test_step_says_where_it_is_broken(changed: dict[str, object], path: str) -> None:
    step = {**a_step("HEATMAP"), **changed}
    run = parsed(a_run(steps={"a": step, "b": a_step("HEATMAP")}))
    assert run.defect is not None
    assert run.defect.path == f"steps.a.{path}"
    assert list(run.steps) == ["b"]  # what can be read is there


def test_two_steps_with_one_object_name_both() -> None:
    candles = a_step("OHLCV_EXPORT", timeframe="1M")
    defect = parsed(a_run(steps={"a": candles, "b": candles})).defect
    assert defect is not None
    assert defect.path == "steps.b"
    assert "'a'" in defect.reason


def test_circle_is_told_in_the_direction_people_read_it() -> None:
    steps = {"a": a_step("X", depends_on=["b"]), "b": a_step("X", depends_on=["c"]), "c": a_step("X", depends_on=["a"])}
    defect = parsed(a_run(steps=steps)).defect
    assert defect is not None
    names = defect.reason.removeprefix("goes in a circle: ").split(" → ")
    assert names[0] == names[-1]
    for one, needed in pairwise(names):
        assert steps[one]["dependsOn"] == [needed]


@pytest.mark.parametrize("run_id", ["", ".", "-x", "a/b", "a.b", "x" * 129, "ü", "a b", "a\n"])
def test_document_id_that_cannot_be_a_run_id_is_a_defect(run_id: str) -> None:
    defect = parse_run(a_snapshot(a_run(run_id=run_id), run_id)).defect
    assert defect is not None
    assert defect.path == "runId"


def test_absent_fields_have_defaults() -> None:
    run = parsed({"status": "PENDING", "steps": {"a": {"stepType": "X", "status": "PENDING"}}})
    step = run.steps["a"]
    assert run.defect is None
    assert (step.attempt, step.failures, step.lease_losses, step.nudges, step.max_attempts) == (0, 0, 0, 0, 3)
    assert (step.depends_on, step.optional, step.inputs, step.outputs) == ((), False, {}, {})
    assert (step.lease, step.error, step.ready_at) == (None, None, None)


def test_unknown_fields_are_ignored() -> None:
    plain = a_run(ohlcv="RUNNING")
    steps = plain["steps"]
    assert isinstance(steps, dict)
    odd = {**plain, "x": {"y": [1]}, "steps": {**steps, OHLCV: {**steps[OHLCV], "colour": "blue"}}}
    assert parsed(odd) == parsed(plain)


@pytest.mark.parametrize("error", [{}, {"code": 5}, "text", 7, {"code": "X", "message": None, "details": "none"}])
def test_odd_error_is_still_an_error(error: object) -> None:
    run = parsed(a_run(steps={"a": a_step("X", "FAILED", error=error)}))
    assert run.defect is None
    assert run.steps["a"].error is not None
    assert run.steps["a"].error.retryable is False


def test_wake_at_counts_only_as_a_timestamp() -> None:
    """Firestore's query compares by type: text would never be found, so it is as good as absent."""
    later = T0 + timedelta(seconds=600)
    assert parsed(a_run(ohlcv="RUNNING", wakeAt=later)).wake_at == later
    assert parsed(a_run(ohlcv="RUNNING", wakeAt="2025-12-24T12:10:00Z")).wake_at is None


def test_steps_come_by_step_id() -> None:
    run = parsed(a_run(steps={name: a_step("X") for name in ("c", "a", "b")}))
    assert list(run.steps) == ["a", "b", "c"]


def test_size_counts_bytes_and_not_characters() -> None:
    assert size_of({"a": "ü" * 10}) == 2 + 21
    assert size_of("\ud800") > 0
    assert size_of(deep(100_000)) == len("bottom") + 1


HOSTILE: dict[str, Document] = {
    "empty": {},
    "deep run id": {"runId": deep(5000)},
    "deep status": {"status": deep(5000), "steps": {"a": a_step("X")}},
    "deep inputs": {"status": "PENDING", "steps": {"a": {**a_step("X"), "inputs": {"x": deep(5000)}}}},
    "deep step status": {"status": "PENDING", "steps": {"a": {"stepType": "X", "status": deep(5000)}}},
    "deep steps": {"status": "PENDING", "steps": deep(5000)},
    "long run id": {"runId": "x" * 150_000},
    "long status": {"status": "x" * 150_000, "steps": {"a": a_step("X")}},
    "long step id": {"status": "PENDING", "steps": {"x" * 100_000: a_step("X")}},
    "long dependency": {"status": "PENDING", "steps": {"a": a_step("X", depends_on=["y" * 100_000])}},
    "surrogates": {"status": "\ud800\n" * 10, "steps": {"\ud800": 1}},
    "big number": {"status": "PENDING", "steps": {"a": a_step("X", inputs={"n": 10**5000})}},
    "big number as a status": {"status": 10**5000, "steps": {"a": a_step("X")}},
    "big number as a wish": {
        "status": "RUNNING",
        "steps": {
            "a": a_step("X", "FAILED", error={"code": "RATE_LIMITED", "details": {"retryAfterSeconds": 10**400}})
        },
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_document_ends_with_a_readable_word(name: str) -> None:
    document = HOSTILE[name]
    run = parsed(document)
    after = parsed(apply(document, plan(run, T0)))
    if run.defect is None:
        assert after.steps["a"].status in (StepStatus.READY, StepStatus.PENDING)
        return
    assert after.status is RunStatus.FAILED
    assert after.error is not None
    assert after.error.code == Code.FLOW_RUN_INVALID
    assert 0 < len(after.error.message) <= 500
    assert len(after.error.message.splitlines()) == 1


@settings(max_examples=300)
@given(garbage_documents())
def test_garbage_never_raises_and_is_never_stuck(document: Document) -> None:
    run = parsed(document)
    after = parsed(apply(document, plan(run, T0)))
    if run.defect and not run.status.finished:
        assert after.status is RunStatus.FAILED
        assert after.error is not None
        assert after.error.code == Code.FLOW_RUN_INVALID
    assert after.status.finished or after.wake_at is not None
    assert plan(after, T0) == NOTHING


@settings(max_examples=200)
@given(documents())
def test_sound_documents_have_no_defect(document: Document) -> None:
    assert parsed(document).defect is None
    assert parsed(document).run_id == RUN_ID


def test_what_a_run_records_itself_does_not_end_it() -> None:
    for recorded in (a_run(ohlcv="RUNNING"), a_run(ohlcv="READY", wakeAt=T0)):
        assert parsed({**recorded, "padding": "x" * 200_000}).defect is None
