"""CHEAP: leaves its own name behind."""

import functions_framework

from flowcore import runtime
from flowcore.steps import Artifact, StepContext, StepInputs, StepType

runtime.config()  # a wrong setting stops the process here, before it serves anything


class Inputs(StepInputs):
    """Nothing is asked for."""


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    return Artifact.json({"step": ctx.step.step_id})


CHEAP = StepType("CHEAP", Inputs.read, execute)


@functions_framework.cloud_event
def cheap(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, CHEAP)
