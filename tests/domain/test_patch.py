"""Only the difference is written, and it says exactly what was decided."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowcore.domain.errors import Code, StepError
from flowcore.domain.model import Lease, RunStatus, Step, StepStatus
from flowcore.domain.patch import DELETE, NOTHING, Patch, apply, between
from flowcore.testing.builders import CHARTS, OHLCV, a_run, a_step, parsed
from flowcore.testing.stores import storable
from flowcore.testing.world import T0
from tests.domain.strategies import documents, moments

NAMES = st.sampled_from(["gcs_uri", "pages", "execution", "with.dot", "a/b", "with space", "ü"])
INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(INTEGERS, st.text(max_size=3), st.booleans(), st.lists(INTEGERS, max_size=2), st.just({"x": 1}))


@st.composite
def changed(draw: st.DrawFn, step: Step) -> Step:
    """The same step after anything that a decision may do to it."""
    maybe = st.one_of(st.none(), moments())
    return replace(
        step,
        status=draw(st.sampled_from(StepStatus)),
        attempt=draw(st.integers(0, 5)),
        failures=draw(st.integers(0, 5)),
        nudges=draw(st.integers(0, 5)),
        lease=draw(st.one_of(st.none(), moments().map(lambda moment: Lease("t", moment)))),
        error=draw(st.one_of(st.none(), st.just(StepError(Code.RATE_LIMITED, "429", True, {"retryAfterSeconds": 3})))),
        ready_at=draw(maybe),
        not_before=draw(maybe),
        started_at=draw(maybe),
        finished_at=draw(maybe),
        outputs=draw(st.dictionaries(NAMES, VALUES, max_size=3)),
        attempts=draw(st.lists(st.just({"attempt": 1}), max_size=2).map(tuple)),
    )


@settings(max_examples=100)
@given(st.data(), documents(), moments())
def test_patch_turns_one_run_into_the_other(data: st.DataObject, document: Mapping[str, object], now: object) -> None:
    before = parsed(document)
    after = replace(
        before.with_steps(*(data.draw(changed(step)) for step in list(before.steps.values())[:3])),
        status=data.draw(st.sampled_from(RunStatus)),
        cancel_requested=data.draw(st.booleans()),
        wake_at=data.draw(st.one_of(st.none(), moments())),
        finished_at=data.draw(st.one_of(st.none(), moments())),
    )
    patch = between(before, after, T0)
    assert parsed(apply(document, patch)) == after
    assert storable({key: value for key, value in patch.changes.items() if value is not DELETE})
    assert between(after, after, T0) == NOTHING


def test_nothing_changed_is_nothing_to_write() -> None:
    run = parsed(a_run())
    assert between(run, run, T0) == NOTHING
    assert not NOTHING


def test_only_what_changed_is_written() -> None:
    run = parsed(a_run(ohlcv="READY"))
    after = run.with_steps(replace(run.steps[OHLCV], nudges=1))
    assert between(run, after, T0).changes == {f"steps.{OHLCV}.nudges": 1, "updatedAt": "2025-12-24T12:00:00Z"}


def test_inputs_are_never_written() -> None:
    run = parsed(a_run())
    after = run.with_steps(replace(run.steps[OHLCV], inputs={"symbol": "ETH"}, depends_on=(CHARTS,), step_type="X"))
    assert between(run, after, T0) == NOTHING


def test_wake_at_is_the_one_timestamp() -> None:
    run = parsed(a_run())
    later = T0 + timedelta(seconds=5)
    patch = between(run, replace(run, wake_at=later, finished_at=later), T0)
    assert patch.changes["wakeAt"] == later
    assert patch.changes["finishedAt"] == "2025-12-24T12:00:05Z"


def test_outputs_are_written_key_by_key() -> None:
    run = parsed(a_run(ohlcv="SUCCEEDED"))
    step = run.steps[OHLCV]
    patch = between(run, run.with_steps(replace(step, outputs={"pages": 2})), T0)
    assert patch.changes[f"steps.{OHLCV}.outputs.gcs_uri"] is DELETE
    assert patch.changes[f"steps.{OHLCV}.outputs.pages"] == 2


def test_outputs_that_cannot_be_paths_are_written_whole() -> None:
    run = parsed(a_run())
    patch = between(run, run.with_steps(replace(run.steps[OHLCV], outputs={"a.b": 1, "c": 2})), T0)
    assert patch.changes[f"steps.{OHLCV}.outputs"] == {"a.b": 1, "c": 2}


def test_apply_leaves_the_original_alone() -> None:
    document = a_run(steps={"a": a_step("X")})
    copy = a_run(steps={"a": a_step("X")})
    after = apply(document, Patch({"steps.a.status": "READY", "status": DELETE, "new.deep.path": 1}))
    assert document == copy
    assert "status" not in after
    assert after["new"] == {"deep": {"path": 1}}


@pytest.mark.parametrize("path", ["missing", "steps.a.missing", "steps.nobody.error"])
def test_deleting_what_is_not_there_is_no_error(path: str) -> None:
    document = a_run(steps={"a": a_step("X")})
    assert parsed(apply({**document, "status": "RUNNING"}, Patch({path: DELETE}))).status is RunStatus.RUNNING
