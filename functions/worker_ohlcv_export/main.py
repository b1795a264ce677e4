"""The candles of a run: from BigQuery, or from a file, into one object that the other steps read."""

import functions_framework

from flowcore import runtime
from flowcore.domain.artifacts import Artifact
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType
from functions.worker_ohlcv_export.export import export
from functions.worker_ohlcv_export.inputs import Inputs, wish

runtime.config()  # a wrong setting stops the process here, before it serves anything
runtime.candles_config()


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    asked = wish(inputs, ctx.run, ctx.step, ctx.clock.now())
    # BigQuery and Arrow are loaded here, by runtime: most deliveries are for somebody else.
    if asked.file:
        return export(ctx, asked, runtime.candle_file(asked.file), "gcs_read")
    return export(ctx, asked, runtime.candle_source(), "bigquery")


OHLCV_EXPORT = StepType("OHLCV_EXPORT", Inputs.read, execute)


@functions_framework.cloud_event
def worker_ohlcv_export(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, OHLCV_EXPORT)
