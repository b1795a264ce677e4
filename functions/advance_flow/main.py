"""The orchestrator: every write of a run comes by here, and what can go on, goes on."""

import functions_framework

from flowcore import runtime

runtime.config()  # a wrong setting stops the process here, before it serves anything


@functions_framework.cloud_event
def advance_flow(event: runtime.CloudEvent) -> None:
    runtime.advance_run(event)
