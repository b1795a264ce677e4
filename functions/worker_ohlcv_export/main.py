"""The candles of a run: from BigQuery, or from a file, into one object that the other steps read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import functions_framework

from flowcore import runtime
from flowcore.domain.artifacts import Artifact
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType

if TYPE_CHECKING:
    from functions.worker_ohlcv_export.inputs import Inputs

runtime.config()  # a wrong setting stops the process here, before it serves anything
runtime.candles_config()


# What follows is imported by whoever has a step to do: most deliveries are for others, and a cold start is latency.


def read_inputs(inputs: Mapping[str, object]) -> Inputs:
    from functions.worker_ohlcv_export.inputs import Inputs

    return Inputs.read(inputs)


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    from functions.worker_ohlcv_export.export import export
    from functions.worker_ohlcv_export.inputs import wish

    asked = wish(inputs, ctx.run, ctx.step, ctx.clock.now())
    if asked.file:
        return export(ctx, asked, runtime.candle_file(asked.file), "gcs_read")
    return export(ctx, asked, runtime.candle_source(), "bigquery")


OHLCV_EXPORT = StepType("OHLCV_EXPORT", read_inputs, execute)


@functions_framework.cloud_event
def worker_ohlcv_export(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, OHLCV_EXPORT)
