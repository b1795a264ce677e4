"""Charts from the run's own candles. Nothing is asked of anybody, and the same candles give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, tzinfo
from zoneinfo import ZoneInfo

from flowcore.contracts.candles import TIMEFRAMES, Candle, newest_candles
from flowcore.contracts.charts import Chart
from flowcore.domain.errors import Code, DataNotFoundError, ValidationError
from flowcore.engine.context import StepContext
from functions.worker_charts.drawing.figure import REMEMBERED, Headline, draw
from functions.worker_charts.inputs import Inputs, invalid, symbol_of, timeframe_of

# Neither a price nor a volume: beyond it the sums and squares behind an average would leave what a float can hold.
BEYOND = 1e15


@dataclass(frozen=True, slots=True)
class LocalCharts:
    candles: Sequence[Candle]
    known: int  # how many the file has; only the newest are held

    @classmethod
    def of(cls, ctx: StepContext, inputs: Inputs) -> LocalCharts:
        symbol, timeframe = symbol_of(ctx.run), timeframe_of(ctx.step)
        uri = _uri(ctx, inputs)
        try:
            file = newest_candles(ctx.read(uri), REMEMBERED)
        except ValueError as error:
            raise ValidationError(Code.INVALID_STEP_INPUTS, f"{uri}: {error}") from error
        if (file.symbol, file.timeframe) != (symbol, timeframe):
            # The headline of the chart would say something that its candles do not show.
            raise ValidationError(
                Code.INVALID_STEP_INPUTS,
                f"{uri} holds candles of {file.symbol} {file.timeframe}, but the step draws {symbol} {timeframe}",
            )
        candles = [candle for candle in file.candles if _drawable(candle)]
        if not candles:
            raise DataNotFoundError(
                Code.INVALID_STEP_INPUTS, f"{uri} holds no candle to draw", details={"reason": "no_rows"}
            )
        return cls(candles, file.total)

    def render(self, chart: Chart) -> bytes:
        headline = Headline(chart.symbol, chart.timeframe, chart.template.description)
        where = f"chart_templates/{chart.template.template_id}.request"
        zone = _zone(chart.timezone, chart.timeframe)
        return draw(headline, chart.template.request, self.candles, known=self.known, zone=zone, where=where)


def _drawable(candle: Candle) -> bool:
    figures = (candle.open, candle.high, candle.low, candle.close, candle.volume)
    return candle.complete and max(map(abs, figures)) < BEYOND


def _uri(ctx: StepContext, inputs: Inputs) -> str:
    """The step that is named, the file that is named, or the one export of this timeframe among the dependencies."""
    if inputs.ohlcv_step_id:
        return ctx.uri_of(inputs.ohlcv_step_id, "ohlcvStepId")
    if inputs.ohlcv_gcs_uri:
        return inputs.ohlcv_gcs_uri
    steps = [ctx.run.steps[step_id] for step_id in ctx.step.depends_on if step_id in ctx.run.steps]
    exports = [
        step.step_id for step in steps if (step.step_type, step.timeframe) == ("OHLCV_EXPORT", ctx.step.timeframe)
    ]
    if len(exports) != 1:
        found = "none" if not exports else f"{len(exports)}"
        raise invalid(
            "inputs.ohlcvStepId",
            f"is missing, and {found} of the steps in dependsOn is an OHLCV_EXPORT of this timeframe",
        )
    return ctx.uri_of(exports[0], "ohlcvStepId")


def _zone(name: str, timeframe: str) -> tzinfo:
    """A day is a day: only candles that are shorter than one are shown in the time of the place."""
    lasting = TIMEFRAMES.get(timeframe)
    if name in ("UTC", "Etc/UTC") or lasting is None or lasting >= timedelta(days=1):
        return UTC
    return ZoneInfo(name)
