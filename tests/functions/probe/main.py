"""PROBE: asks a provider, once, and keeps its answer."""

import functions_framework
import requests

from flowcore import runtime
from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code, NetworkError, ValidationError
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType
from flowcore.inputs import StepInputs

runtime.config()  # a wrong setting stops the process here, before it serves anything


class Inputs(StepInputs):
    provider: str


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    answer = requests.post(inputs.provider, json={"stepId": ctx.step.step_id}, timeout=ctx.room())
    match answer.status_code:
        case 200:
            return Artifact.json(answer.json(), execution={"model": "m-1"})
        case 503:
            raise NetworkError(Code.GEMINI_REQUEST_FAILED, "the provider did not answer (503)")
        case 400:
            raise ValidationError(
                Code.INVALID_STEP_INPUTS, "inputs: the provider refused them", details={"status": 400}
            )
        case unforeseen:
            raise KeyError(unforeseen)


PROBE = StepType("PROBE", Inputs.read, execute)


@functions_framework.cloud_event
def probe(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, PROBE)
