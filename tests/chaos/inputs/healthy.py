"""What is spoiled later: a market report whose every document and object is in order."""

from __future__ import annotations

import json
from typing import Any

from flowcore.contracts.candles import Candle, write_candles
from flowcore.domain.artifacts import canonical_json
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step
from tests.functions.charts.market import walk
from tests.functions.llm_report.scene import PLAIN, PROFILE, PROMPT, SCHEMA, manifest, report_file, schema_document

BUCKET = "artifacts"
TEMPLATE = "ctpl_0_v1"
EARLIER = "llm_report_1w_earlier_v1"
# Where no step writes: a step that finds an object of nobody in its own place fails.
CANDLES_OBJECT, MANIFEST_OBJECT, EARLIER_OBJECT = "in/candles.json", "in/manifest.json", "in/earlier.json"
IMAGE_OBJECT = "in/chart.png"
PROMPT_PATH, SCHEMA_PATH, TEMPLATE_PATH = (
    f"llm_prompts/{PROMPT}",
    f"llm_schemas/{SCHEMA}",
    f"chart_templates/{TEMPLATE}",
)

PROMPT_FIELDS: dict[str, Any] = {"schemaVersion": 1, "systemInstruction": "You are calm.", "userPrompt": "What now?"}
SCHEMA_FIELDS: dict[str, Any] = schema_document(PLAIN)
TEMPLATE_FIELDS: dict[str, Any] = {
    "description": "Price and volume",
    "chartImgSymbolTemplate": "BINANCE:{symbol}",
    "request": {
        "theme": "dark",
        "studies": [
            {"name": "Volume"},
            {"name": "Moving Average", "input": {"length": 12}},
            {"name": "MACD", "input": {"in_0": 12, "in_1": 26, "in_2": 9}},
        ],
    },
}
REPORT_INPUTS: dict[str, Any] = {
    "llm": {"promptId": PROMPT, "llmProfile": PROFILE},
    "ohlcvStepId": OHLCV,
    "chartsManifestStepId": CHARTS,
}


def a_market_run(status: str = "PENDING") -> dict[str, Any]:
    """Candles, a chart, a report: nothing has happened yet."""
    candles = {"source": "bigquery", "exportMode": "all", "symbol": "BTCUSDT"}
    charts = {"requests": [{"chartTemplateId": TEMPLATE}], "minImages": 1, "ohlcvStepId": OHLCV}
    steps = {
        OHLCV: a_step("OHLCV_EXPORT", timeframe="1M", inputs=candles),
        CHARTS: a_step("CHART_EXPORT", depends_on=[OHLCV], timeframe="1M", inputs=charts),
        REPORT: a_step("LLM_REPORT", depends_on=[OHLCV, CHARTS], timeframe="1M", inputs=REPORT_INPUTS),
    }
    return a_run(status, steps=steps)


def only_the_report() -> dict[str, Any]:
    """Everything that the report reads is there; one earlier report is, too."""
    steps = {
        OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", timeframe="1M", outputs=_at(CANDLES_OBJECT)),
        CHARTS: a_step("CHART_EXPORT", "SUCCEEDED", timeframe="1M", outputs=_at(MANIFEST_OBJECT)),
        EARLIER: a_step("LLM_REPORT", "SUCCEEDED", timeframe="1w", outputs=_at(EARLIER_OBJECT)),
        REPORT: a_step(
            "LLM_REPORT",
            depends_on=[OHLCV, CHARTS],
            timeframe="1M",
            inputs={**REPORT_INPUTS, "previousReportStepIds": [EARLIER]},
        ),
    }
    return a_run("PENDING", steps=steps)


def only_the_charts() -> dict[str, Any]:
    inputs = {"requests": [{"chartTemplateId": TEMPLATE}], "ohlcvStepId": OHLCV}
    steps = {
        OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", timeframe="1M", outputs=_at(CANDLES_OBJECT)),
        CHARTS: a_step("CHART_EXPORT", depends_on=[OHLCV], timeframe="1M", inputs=inputs),
    }
    return a_run("PENDING", steps=steps)


def only_the_candles(name: str) -> dict[str, Any]:
    """From a file."""
    inputs = {"source": "file", "exportMode": "all", "symbol": "BTCUSDT", "file": f"gs://{BUCKET}/{name}"}
    return a_run("PENDING", steps={OHLCV: a_step("OHLCV_EXPORT", timeframe="1d", inputs=inputs)})


def candle_file(count: int = 40) -> dict[str, Any]:
    content = b"".join(write_candles(walk(count), {"symbol": "BTCUSDT", "timeframe": "1M", "count": count}))
    found: dict[str, Any] = json.loads(content)
    return found


def candle_rows(count: int = 30) -> bytes:
    """CSV, with the columns of the table."""
    lines = ["timestamp,symbol,timeframe,open,high,low,close,volume,exchange,ingested_at"]
    return "\n".join([*lines, *map(_row, walk(count))]).encode()


def manifest_file() -> dict[str, Any]:
    """Of charts that an earlier run has drawn."""
    found: dict[str, Any] = json.loads(manifest("Price", templates=[TEMPLATE]))
    return {**found, "items": [{**item, "png_gcs_uri": f"gs://{BUCKET}/{IMAGE_OBJECT}"} for item in found["items"]]}


def earlier_report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report_file())
    return found


def as_bytes(value: object) -> bytes:
    return canonical_json(value)


def _row(candle: Candle) -> str:
    figures = f"{candle.open},{candle.high},{candle.low},{candle.close},{candle.volume}"
    return f"{candle.time.isoformat()},BTCUSDT,1d,{figures},BINANCE,{candle.time.isoformat()}"


def _at(name: str) -> dict[str, str]:
    return {"gcs_uri": f"gs://{BUCKET}/{name}"}


RUNS = (a_market_run(), a_market_run("RUNNING"), only_the_report(), only_the_charts())
