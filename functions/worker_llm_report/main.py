"""LLM_REPORT: asks a model, once, for a report on what the steps before it have found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import functions_framework

from flowcore import runtime
from flowcore.domain.artifacts import Artifact
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType

if TYPE_CHECKING:
    from functions.worker_llm_report.inputs import Inputs

runtime.config()  # a wrong setting stops the process here, before it serves anything
runtime.model_config()


# What follows is imported by whoever has a step to do: most deliveries are for others, and a cold start is latency.


def read_inputs(inputs: Mapping[str, object]) -> Inputs:
    from functions.worker_llm_report.inputs import Inputs

    return Inputs.read(inputs)


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    from functions.worker_llm_report.writing import Desk, write_report

    desk = Desk(
        documents=runtime.documents(),
        model=runtime.model(),
        provider_seconds=runtime.config().budget.provider,
        allowed_models=runtime.model_config().allowed_models,
        size_of=runtime.artifacts().size,
    )
    return write_report(ctx, inputs, desk)


LLM_REPORT = StepType("LLM_REPORT", read_inputs, execute)


@functions_framework.cloud_event
def worker_llm_report(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, LLM_REPORT)
