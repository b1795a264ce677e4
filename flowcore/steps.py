"""All that an author of a step type needs, in one place.

    class Inputs(StepInputs):
        ohlcv_step_id: str

    def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
        return Artifact.json(...)

    HEATMAP = StepType("HEATMAP", Inputs.read, execute)

    @functions_framework.cloud_event
    def worker_heatmap(event: CloudEvent) -> None:
        run_step(event, HEATMAP)

The engine claims the step, looks whether its result is there already, calls `execute`, stores what it returns once, and
records it. `execute` raises one of the failures below, or anything: every exception has a code.
"""

from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import (
    AuthenticationError,
    Code,
    ConfigurationError,
    DataNotFoundError,
    NetworkError,
    StepFailed,
    ValidationError,
)
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType
from flowcore.inputs import StepInputs
from flowcore.runtime import CloudEvent, run_step

__all__ = [
    "Artifact",
    "AuthenticationError",
    "CloudEvent",
    "Code",
    "ConfigurationError",
    "DataNotFoundError",
    "NetworkError",
    "StepContext",
    "StepFailed",
    "StepInputs",
    "StepType",
    "ValidationError",
    "run_step",
]
