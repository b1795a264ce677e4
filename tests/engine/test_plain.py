"""What a step hands over may be anything; what is recorded is always something that a document can hold."""

from __future__ import annotations

from decimal import Decimal
from http import HTTPStatus

import pytest

from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code, ValidationError
from flowcore.domain.model import StepStatus
from flowcore.engine.context import StepContext
from tests.engine.stage import Inputs, Stage, report_ready


@pytest.mark.parametrize(
    "failure",
    [
        ValidationError(Code.INVALID_STEP_INPUTS, "bad \ud800 text"),
        ValidationError(
            Code.INVALID_STEP_INPUTS, "x", details={"status": HTTPStatus.NOT_FOUND, "price": Decimal("1.5")}
        ),
        ValidationError(Code.INVALID_STEP_INPUTS, "x", details={"rows": [[1, 2], [3]], "big": 10**30, "__x__": {1, 2}}),
        ValidationError(Code.INVALID_STEP_INPUTS, "x", outputs={"é" * 800: "a"}),
        ValidationError(Code.INVALID_STEP_INPUTS, "x", outputs={"evidence": "e" * 300_000, "uri": "gs://b/o"}),
    ],
    ids=["a lone surrogate", "odd numbers", "odd shapes", "a long name", "too much"],
)
def test_failure_is_recorded_whatever_it_says(failure: ValidationError) -> None:
    def fail(context: StepContext, inputs: Inputs) -> Artifact:
        raise failure

    stage = Stage()
    stage.worker(execute=fail).handle(stage.put(report_ready()))
    step = stage.step()
    assert step.status is StepStatus.FAILED
    assert step.error is not None
    assert step.error.code == Code.INVALID_STEP_INPUTS
    assert "evidence" not in step.outputs


def test_failure_without_words_gets_those_of_the_registry() -> None:
    assert (
        ValidationError(Code.INVALID_STEP_INPUTS, "  ").error.message == "The step's inputs cannot be used as they are."
    )


def test_odd_outputs_do_not_cost_a_paid_result() -> None:
    def odd(context: StepContext, inputs: Inputs) -> Artifact:
        return Artifact.json({}, outputs={"odd": {1: 2, "b": [[3]]}})

    stage = Stage()
    stage.worker(execute=odd).handle(stage.put(report_ready()))
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.step().outputs["odd"] == {"1": 2, "b": ["[3]"]}
