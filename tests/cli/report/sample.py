"""A market-report run of two timeframes with everything that belongs to it, as a document and as objects."""

import io
import json
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from PIL import Image, ImageDraw

from flowcore.domain.times import to_text

T0 = datetime(2025, 12, 24, 12, tzinfo=UTC)
NOW = T0 + timedelta(minutes=1)
RUN_ID = "20251224-120000_BTCUSDT_a1b2c"
BUCKET = "gs://acme-artifacts"
CHARTS = "charts_{}_default_set_v1"
TEMPLATES = {"ctpl_price_ma1226_vol_v1": "Price, moving averages, volume", "ctpl_rsi14_v1": "RSI and stochastic RSI"}
CONCLUSION = "llm_report_1M_summary_v1"

MARKDOWN = """# BTCUSDT holds its range

The month closed **above** the average of twelve; the week is *less sure*.

- Support at 84,100, tested three times
- Resistance at 97,400

| Level | Kind | Price |
|---|:-:|---:|
| 1 | support | 84,100 |
| 2 | resistance | 97,400 |

## What would prove it wrong

> A weekly close below 84,100.

See [the exchange](https://exchange.example/btc) and ![a picture](https://exchange.example/pixel.png).
"""
DETAILS: dict[str, Any] = {
    "trend": {"direction": "up", "strength": 0.62, "note": "Higher lows since June."},
    "levels": [
        {"price": 84100, "kind": "support", "note": "Turned there in August, October and November."},
        {"price": 97432.5, "kind": "resistance", "note": "The high of the autumn."},
    ],
    "volatilityPercent": 7.4,
    "watchedPrices": [84100, 91250.25, 97432.5],
    "risks": ["A strong dollar takes the wind out of everything that is priced in it.", "Thin holiday trading."],
}


def png(width: int = 1200, height: int = 800) -> bytes:
    """Something with fine lines, so that blur would be seen."""
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)
    for x in range(0, width, 40):
        pen.line([(x, 0), (x, height)], fill="#e5e5e5")
        top = height // 2 + (x * 7919) % (height // 3) - x // 6
        pen.rectangle([x + 10, top, x + 26, top + 30 + x % 90], fill="#2a9d6f" if x % 3 else "#d1495b")
    pen.text((20, 20), "BTCUSDT 1M", fill="black", font_size=18)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


class Sample:
    """The document and the objects it points at; tests spoil whatever they are about."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.run: dict[str, Any] = {
            "schemaVersion": 1,
            "runId": RUN_ID,
            "flowKey": "market_report_v1",
            "status": "SUCCEEDED",
            "createdAt": _at(0),
            "finishedAt": _at(9.3),
            "trigger": {"type": "USER", "source": "flow run"},
            "scope": {"symbol": "BTCUSDT"},
            "steps": {},
        }
        for timeframe, late in (("1M", 0.0), ("1w", 0.3)):
            self._add_timeframe(timeframe, late)
        self._add_conclusion()

    @property
    def steps(self) -> dict[str, Any]:
        steps: dict[str, Any] = self.run["steps"]
        return steps

    def read(self, uri: str) -> bytes:
        return self.objects[uri]

    def put_json(self, uri: str, content: object) -> str:
        self.objects[uri] = json.dumps(content).encode()
        return uri

    def put_report(self, step_id: str, markdown: object, details: object) -> str:
        uri = f"{BUCKET}/runs/{RUN_ID}/reports/{step_id}.json"
        return self.put_json(uri, {"metadata": {}, "output": {"summary": {"markdown": markdown}, "details": details}})

    def _add_timeframe(self, timeframe: str, late: float) -> None:
        ohlcv, charts, report = f"ohlcv_{timeframe}_bigquery_all_v1", CHARTS.format(timeframe), _review(timeframe)
        candles = {"count": 176, "skipped": 0, "first": "2011-05-01T00:00:00Z", "last": "2025-11-01T00:00:00Z"}
        uri = self.put_json(f"{BUCKET}/runs/{RUN_ID}/ohlcv/{timeframe}.json", {"data": [], "metadata": {}})
        self.steps[ohlcv] = _done("OHLCV_EXPORT", timeframe, [], (0.2, 0.4, 1.4 + late), gcs_uri=uri, candles=candles)
        manifest = self.put_manifest(charts, timeframe)
        self.steps[charts] = _done(
            "CHART_EXPORT",
            timeframe,
            [ohlcv],
            (1.5 + late, 1.9 + late, 3.6 + late),
            gcs_uri=manifest,
            outputsManifestGcsUri=manifest,
        )
        about = f"## The {timeframe} candles\n\nThey rise, with pauses."
        self.steps[report] = _done(
            "LLM_REPORT",
            timeframe,
            [ohlcv, charts],
            (3.7 + late, 4.0 + late, 6.0 + late),
            inputs=_PROFILE,
            gcs_uri=self.put_report(report, about, {"trend": "up", "levels": [84100, 97400]}),
            execution={"llm": _LLM, "attempts": {"total": 1}},
        )

    def _add_conclusion(self) -> None:
        needed = ["ohlcv_1M_bigquery_all_v1", CHARTS.format("1M"), _review("1M"), _review("1w")]
        uri = self.put_report(CONCLUSION, MARKDOWN, DETAILS)
        execution = {"llm": _LLM, "attempts": {"total": 1}}
        self.steps[CONCLUSION] = _done(
            "LLM_REPORT", "1M", needed, (6.4, 6.6, 9.2), inputs=_PROFILE, gcs_uri=uri, execution=execution
        )

    def put_manifest(self, step_id: str, timeframe: str, templates: Mapping[str, str] | None = None) -> str:
        folder = f"{BUCKET}/charts/{RUN_ID}/{step_id}"
        items = []
        for template, kind in (TEMPLATES if templates is None else templates).items():
            self.objects[f"{folder}/{template}.png"] = PICTURE
            item = {"chartTemplateId": template, "kind": kind, "generatedAt": _at(3)}
            items.append({**item, "png_gcs_uri": f"{folder}/{template}.png"})
        manifest = {
            "schemaVersion": 1,
            "runId": RUN_ID,
            "stepId": step_id,
            "createdAt": _at(3),
            "symbol": "BTCUSDT",
            "timeframe": timeframe,
            "minImages": 1,
            "requested": [{"chartTemplateId": item["chartTemplateId"]} for item in items],
            "items": items,
            "failures": [],
        }
        return self.put_json(f"{folder}/manifest.json", manifest)


def failed() -> Sample:
    """The weekly charts failed for good, after a retry; what depends on them was skipped."""
    sample = Sample()
    charts = sample.steps[CHARTS.format("1w")]
    evidence = f"{BUCKET}/charts/{RUN_ID}/{CHARTS.format('1w')}/manifest.attempt-1.json"
    error = {"code": "CHART_API_FAILED", "message": "chart-img answered 503 for 2 of 2 charts", "retryable": True}
    charts.update(
        status="FAILED",
        attempt=2,
        failures=2,
        outputs={},
        readyAt=_at(11),
        startedAt=_at(11.2),
        finishedAt=_at(12.5),
        error={**error, "message": "chart-img refused the API key (401) for 2 of 2 charts", "retryable": False},
        attempts=[
            {
                "attempt": 1,
                "startedAt": _at(2.2),
                "finishedAt": _at(3.9),
                "error": error,
                "outputs": {"outputsManifestGcsUri": evidence},
            }
        ],
    )
    for name in (_review("1w"), CONCLUSION):
        step = sample.steps[name]
        kept = {key: step[key] for key in ("stepType", "timeframe", "dependsOn", "inputs")}
        message = f"needs '{CHARTS.format('1w')}', which is FAILED"
        skipped = {"code": "DEPENDENCY_NOT_SUCCEEDED", "message": message}
        sample.steps[name] = {**kept, "status": "SKIPPED", "finishedAt": _at(12.6), "outputs": {}, "error": skipped}
    sample.run.update(status="FAILED", finishedAt=_at(12.6))
    return sample


def under_way() -> Sample:
    """The monthly report is being written, the weekly one waits for a worker, the conclusion for both."""
    sample = Sample()
    del sample.run["finishedAt"]
    sample.run["status"] = "RUNNING"
    writing, ready, pending = (sample.steps[name] for name in (_review("1M"), _review("1w"), CONCLUSION))
    for step, status, gone in (
        (writing, "RUNNING", ("finishedAt",)),
        (ready, "READY", ("finishedAt", "startedAt", "attempt")),
        (pending, "PENDING", ("finishedAt", "startedAt", "readyAt", "attempt")),
    ):
        step.update(status=status, outputs={})
        for name in gone:
            del step[name]
    return sample


def _review(timeframe: str) -> str:
    return f"llm_report_{timeframe}_review_v1"


def _at(seconds: float) -> str:
    return to_text(T0 + timedelta(seconds=seconds))


def _done(
    step_type: str,
    timeframe: str,
    depends_on: list[str],
    times: tuple[float, float, float],
    inputs: Mapping[str, object] | None = None,
    **outputs: Any,
) -> dict[str, Any]:
    ready, started, finished = map(_at, times)
    length = round((times[2] - times[1]) * 1000)
    timing = {"startedAt": started, "finishedAt": finished, "durationMs": length}
    return {
        "stepType": step_type,
        "status": "SUCCEEDED",
        "timeframe": timeframe,
        "dependsOn": depends_on,
        "attempt": 1,
        "readyAt": ready,
        "startedAt": started,
        "finishedAt": finished,
        "inputs": deepcopy(dict(inputs or {})),
        "outputs": {**outputs, "execution": {**outputs.get("execution", {}), "timing": timing}},
    }


def console(uri: str) -> str:
    return "https://console.cloud.example/" + uri.removeprefix("gs://")


_LLM = {
    "finishReason": "STOP",
    "modelVersion": "gemini-3.8-flash-001",
    "usageMetadata": {"promptTokenCount": 6120, "candidatesTokenCount": 512, "totalTokenCount": 6632},
    "attempts": {"total": 1},
}
_PROFILE = {"llm": {"promptId": "market_report_v1", "llmProfile": {"modelName": "gemini-3.8-flash"}}}
PICTURE = png()
