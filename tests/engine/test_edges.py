"""Edges that only a deliberate break of the kernel brought to light: each test here is the one that noticed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowcore.domain.artifacts import Artifact, inputs_sha256
from flowcore.domain.budget import TimeBudget
from flowcore.domain.errors import Code, NetworkError, StepError, StepFailed
from flowcore.domain.lifecycle import adoptable
from flowcore.domain.manual import Refused, reopen, retry
from flowcore.domain.model import Lease, Step, StepStatus
from flowcore.domain.moves import failed
from flowcore.domain.patch import DELETE
from flowcore.domain.plan import plan
from flowcore.engine.context import StepContext
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step, parsed
from flowcore.testing.world import T0
from tests.engine.stage import Inputs, Stage, metadata, report_ready, unavailable, with_step


def test_lease_outlives_the_invocation_by_the_margin() -> None:
    stage = Stage(budget=TimeBudget(invocation=540, provider=400, finalize=120))
    event = stage.put(report_ready())
    leases: list[Lease | None] = []
    stage.provider.meanwhile = lambda: leases.append(stage.step().lease)
    stage.worker().handle(event)
    assert leases[0] is not None
    assert leases[0].expires_at == T0 + timedelta(seconds=540 + 60)


def test_as_many_steps_as_are_allowed_are_no_defect() -> None:
    assert parsed(a_run(steps={f"s{n}": a_step("X") for n in range(200)})).defect is None


def test_evidence_of_a_failed_step_is_not_its_result() -> None:
    document = with_step(
        report_ready(),
        CHARTS,
        status="FAILED",
        outputs={"outputsManifestGcsUri": "gs://b/evidence"},
        error={"code": "CHART_API_FAILED", "message": "", "retryable": False},
        optional=True,
    )
    document = with_step(document, REPORT, dependsOn=[OHLCV])
    stage = Stage()
    refused: list[StepFailed] = []

    def look(context: StepContext, inputs: Inputs) -> Artifact:
        with pytest.raises(StepFailed, match="is FAILED") as failure:
            context.uri_of(CHARTS, "charts", output="outputsManifestGcsUri")
        refused.append(failure.value)
        return Artifact.json({})

    stage.worker(execute=look).handle(stage.put(document))
    assert refused


def test_cancelled_step_loses_an_error_that_somebody_left_on_it() -> None:
    error = {"code": "INTERNAL", "message": "odd", "retryable": False}
    run = parsed(a_run(cancelRequested=True, steps={"a": a_step("X", "READY", error=error)}))
    assert plan(run, T0).changes["steps.a.error"] is DELETE


def test_cancel_beats_an_optional_step_that_may_be_tried_again() -> None:
    error = {"code": "GEMINI_REQUEST_FAILED", "message": "", "retryable": True}
    steps = {"a": a_step("X", "SUCCEEDED"), "o": a_step("X", "FAILED", optional=True, error=error)}
    assert plan(parsed(a_run(cancelRequested=True, steps=steps)), T0).changes["status"] == "CANCELLED"


def test_look_for_the_object_does_not_use_up_the_reserve() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.artifacts.wire.before_next("find", lambda: stage.after(stage.budget.invocation - stage.budget.finalize))
    stage.artifacts.wire.break_next("find", unavailable(Code.GCS_READ_FAILED), times=1000)
    stage.worker().handle(event)
    assert stage.artifacts.wire.calls["find"] == 1
    assert stage.step().status is StepStatus.FAILED


def test_pending_run_in_which_a_step_runs_is_running() -> None:
    assert plan(parsed(a_run("PENDING", ohlcv="RUNNING")), T0).changes["status"] == "RUNNING"


def test_step_skipped_for_another_cause_is_not_written_at_all() -> None:
    blocked = {
        "code": "DEPENDENCY_NOT_SUCCEEDED",
        "message": "needs 'o', which is FAILED",
        "retryable": False,
        "details": {"dependency": "o", "status": "FAILED"},
    }
    steps = {
        "a": a_step("X", "FAILED"),
        "o": a_step("X", "FAILED", optional=True),
        "behind_o": a_step("X", "SKIPPED", ["o"], optional=True, error=blocked),
    }
    patch = retry(parsed(a_run("FAILED", steps=steps)), ["a"], T0 + timedelta(hours=1))
    assert [path for path in patch.changes if path.startswith("steps.behind_o.")] == []


def test_details_are_bounded_in_the_document() -> None:
    error = StepError(Code.INTERNAL, "m", details={"words": "x" * 5000, "reason": "why", "n": 3})
    step = failed(Step("a", "X", StepStatus.RUNNING), error, T0)
    assert step.error is not None
    assert step.error.details == {"n": 3, "reason": "why", "truncated": True}


@pytest.mark.parametrize("size", [3400, 5000, 7000])
def test_metadata_fits_at_any_size(size: int) -> None:
    words = {"words": "x" * size}
    step = parsed(a_run(steps={"s" * 128: a_step("HEATMAP")})).steps["s" * 128]
    about = metadata(step, Artifact.json({}, outputs=words, execution=words))
    assert sum(len(key) + len(value) for key, value in about.items()) < 8192


def test_older_chart_step_that_points_at_its_manifest_is_not_looked_after() -> None:
    document = with_step(
        a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED"), CHARTS, outputs={"outputsManifestGcsUri": "gs://b/m"}
    )
    assert adoptable(parsed(document), "CHART_EXPORT", T0) is None


def test_claim_does_not_use_up_the_reserve() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", lambda: stage.after(stage.budget.invocation - stage.budget.finalize))
    stage.runs.wire.break_next("update", unavailable(), times=1000)
    with pytest.raises(NetworkError):
        stage.worker().handle(event)
    assert stage.runs.wire.calls["update"] == 1


def test_inputs_that_differ_in_bytes_have_different_hashes() -> None:
    one, other = (Step("a", "X", StepStatus.READY, inputs={"key": value}) for value in (b"1", b"2"))
    assert inputs_sha256(one) != inputs_sha256(other)


def test_hash_of_inputs_does_not_know_addresses() -> None:
    one, other = (Step("a", "X", StepStatus.READY, inputs={"key": object()}) for _ in range(2))
    assert inputs_sha256(one) == inputs_sha256(other)


def test_every_named_step_must_exist() -> None:
    run = parsed(a_run("FAILED", steps={"a": a_step("X", "FAILED")}))
    with pytest.raises(Refused, match="has no step 'nowhere'"):
        reopen(run, T0, retry=["a"], skip=["nowhere"])
