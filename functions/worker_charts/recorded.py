"""Charts from a folder of recorded answers: no network, no quota, for whoever develops templates or tests a flow.

`BINANCE_BTCUSDT__1d__<template>.png` is an answer, `BINANCE_BTCUSDT__1d__<template>__503_BUSY.json` a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flowcore.contracts.charts import Chart
from flowcore.domain.errors import Code, StepFailed


@dataclass(frozen=True, slots=True)
class RecordedCharts:
    folder: Path

    def render(self, chart: Chart) -> bytes:
        name = f"{chart.market_symbol.replace(':', '_')}__{chart.timeframe}__{chart.template.template_id}"
        picture = self.folder / f"{name}.png"
        if picture.is_file():
            return picture.read_bytes()
        refusals = sorted(path.stem for path in self.folder.iterdir() if path.stem.startswith(f"{name}__"))
        if refusals:
            raise _refusal(name, refusals[0].removeprefix(f"{name}__").partition("_")[0])
        raise StepFailed(
            Code.CHART_API_FAILED,
            f"{name}.png is not among the recorded answers; record it, or choose another renderer",
            retryable=False,
            details={"reason": "CHART_API_MOCK_MISSING"},
        )


def _refusal(name: str, status: str) -> StepFailed:
    if status == "429":
        return StepFailed(Code.RATE_LIMITED, f"{name}: recorded as 429", details={"reason": "CHART_API_LIMIT_EXCEEDED"})
    return StepFailed(
        Code.CHART_API_FAILED,
        f"{name}: recorded as {status}",
        retryable=status.startswith("5"),
        details={"status": int(status)} if status.isdecimal() else None,
    )
