"""What a CHART_EXPORT may be asked for: some charts, and how many of them must succeed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field

from flowcore.domain.errors import Code, ValidationError, shown
from flowcore.domain.model import Run, Step, is_name
from flowcore.inputs import StepInputs

# It names a document and an object, so it has no dots and no slashes.
TemplateId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]

_SYMBOL = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
_LONGEST_SYMBOL = 40


class ChartRequest(StepInputs):
    chart_template_id: TemplateId


class Inputs(StepInputs):
    requests: list[ChartRequest] = Field(min_length=1)
    min_images: Annotated[int, Field(ge=0)] | None = None
    ohlcv_step_id: str | None = None
    ohlcv_gcs_uri: str | None = Field(default=None, alias="ohlcv_gcs_uri")

    @classmethod
    def read(cls, inputs: Mapping[str, object]) -> Self:
        """`chartTemplateId` alone is one request. An image that is asked for twice would be one object."""
        wanted = dict(inputs)
        if "requests" not in wanted and "chartTemplateId" in wanted:
            wanted["requests"] = [{"chartTemplateId": wanted["chartTemplateId"]}]
        read = super().read(wanted)
        for number, template_id in enumerate(read.template_ids):
            if template_id in read.template_ids[:number]:
                raise invalid(f"inputs.requests.{number}.chartTemplateId", f"{shown(template_id)} is asked for twice")
        if read.needed > len(read.requests):
            raise invalid("inputs.minImages", f"{read.needed} images cannot come from {len(read.requests)} requests")
        return read

    @property
    def template_ids(self) -> tuple[str, ...]:
        return tuple(request.chart_template_id for request in self.requests)

    @property
    def needed(self) -> int:
        """How many charts make the step a success; all of them, if it does not say."""
        return len(self.requests) if self.min_images is None else self.min_images


def symbol_of(run: Run) -> str:
    symbol = run.scope.get("symbol")
    if not isinstance(symbol, str) or len(symbol) > _LONGEST_SYMBOL or not _SYMBOL.fullmatch(symbol):
        raise invalid("scope.symbol", f"{shown(symbol)} is no symbol; write it without slash and space, as BTCUSDT")
    return symbol


def timeframe_of(step: Step) -> str:
    if not step.timeframe or not is_name(step.timeframe):
        raise invalid(f"steps.{step.step_id}.timeframe", f"{shown(step.timeframe)} is no timeframe; name one, as 1d")
    return step.timeframe


def invalid(path: str, why: str) -> ValidationError:
    return ValidationError(Code.INVALID_STEP_INPUTS, f"{path}: {why}", details={"path": path})
