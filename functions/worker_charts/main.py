"""CHART_EXPORT: draws or buys charts, and leaves a manifest of them for the steps that look at pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import functions_framework

from flowcore import runtime
from flowcore.domain.artifacts import Artifact
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType

if TYPE_CHECKING:
    from flowcore.contracts.charts import Renderer
    from functions.worker_charts.inputs import Inputs

runtime.config()  # a wrong setting stops the process here, before it serves anything
runtime.charts_config()


# What follows is imported by whoever has a step to do: most deliveries are for others, and a cold start is latency.


def read_inputs(inputs: Mapping[str, object]) -> Inputs:
    from functions.worker_charts.inputs import Inputs

    return Inputs.read(inputs)


def execute(ctx: StepContext, inputs: Inputs) -> Artifact:
    from functions.worker_charts.export import Studio, export_charts

    return export_charts(ctx, inputs, Studio(runtime.documents(), runtime.charts_config().timezone, renderer))


def renderer(ctx: StepContext, inputs: Inputs) -> Renderer:
    config = runtime.charts_config()
    if config.renderer == "chart_img":
        from functions.worker_charts.bought import BoughtCharts
        from functions.worker_charts.usage import Usage

        limits = {account.id: account.daily_limit for account in config.accounts}
        seconds = runtime.config().budget.provider
        return BoughtCharts(ctx, runtime.chart_service(), Usage(runtime.documents()), limits, seconds)
    if config.renderer == "recorded":
        from pathlib import Path

        from functions.worker_charts.recorded import RecordedCharts

        return RecordedCharts(Path(config.recordings))
    from functions.worker_charts.local import LocalCharts

    return LocalCharts.of(ctx, inputs)


CHART_EXPORT = StepType("CHART_EXPORT", read_inputs, execute)


@functions_framework.cloud_event
def worker_charts(event: runtime.CloudEvent) -> None:
    runtime.run_step(event, CHART_EXPORT)
