"""A run whose candles and charts are there, with only the report left to write; and what can be wrong with it."""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import llm_schemas
from flowcore.contracts.candles import Candle, write_candles
from flowcore.contracts.charts import ChartItem, Manifest
from flowcore.domain.artifacts import canonical_json
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step
from flowcore.testing.world import T0
from tests.functions.system import BUCKET, System

MODEL = "gemini-3.8-flash"
PROMPT = "market_report_v1"
SCHEMA = "llm_report_output_v1"
SECRET_PROMPT = "Say what the tortoise whispered"
SECRET_SYSTEM = "You are the hare of the marshes"

OHLCV_OBJECT = f"runs/{RUN_ID}/ohlcv/1M.json"
MANIFEST_OBJECT = f"charts/{RUN_ID}/{CHARTS}/manifest.json"
REPORT_OBJECT = f"runs/{RUN_ID}/reports/1M/{REPORT}.json"
EARLIER = "llm_report_1w_earlier_v1"
EARLIER_OBJECT = f"runs/{RUN_ID}/reports/1w/{EARLIER}.json"
PNG = b"\x89PNG\r\n\x1a\n"

# The smallest schema that a report may have.
PLAIN: dict[str, Any] = {
    "type": "object",
    "required": ["summary", "details"],
    "properties": {
        "summary": {"type": "object", "required": ["markdown"], "properties": {"markdown": {"type": "string"}}},
        "details": {"type": "object"},
    },
}
GOOD = {"summary": {"markdown": "# Up"}, "details": {}}

PROFILE: dict[str, Any] = {
    "modelName": MODEL,
    "responseMimeType": "application/json",
    "candidateCount": 1,
    "structuredOutput": {"schemaId": SCHEMA, "kind": "LLM_REPORT_OUTPUT"},
}


# --- what it is written from ---


def a_candle(number: int, price: float = 100.0, start: datetime = datetime(2020, 1, 1, tzinfo=UTC)) -> Candle:
    return Candle(start + timedelta(days=number), price, price + 2, price - 2, price + 1, 1000.0 + number)


def candle_file(count: int = 24) -> bytes:
    rising = (a_candle(number, 100.0 + number) for number in range(count))
    return b"".join(write_candles(rising, {"symbol": "BTCUSDT", "timeframe": "1M"}))


def image_object(template: str) -> str:
    return f"charts/{RUN_ID}/{CHARTS}/{template}.png"


def manifest(*kinds: str, templates: Iterable[str] | None = None) -> bytes:
    names = list(templates) if templates is not None else [f"ctpl_{index}_v1" for index in range(len(kinds))]
    items = [
        ChartItem(name, kind, T0, f"gs://{BUCKET}/{image_object(name)}")
        for name, kind in zip(names, kinds, strict=True)
    ]
    made = Manifest(RUN_ID, CHARTS, T0, "BTCUSDT", "1M", 1, tuple(names) or ("x",), tuple(items), ())
    return canonical_json(made.as_json())


def report_file(markdown: str = "It was better before.") -> bytes:
    return canonical_json({"metadata": {}, "output": {"summary": {"markdown": markdown}, "details": {}}})


def report_of_size(size: int) -> bytes:
    return report_file("x" * (size - len(report_file(""))))


# --- the stage ---


def set_up(system: System, schema: Mapping[str, Any] = PLAIN, schema_id: str = SCHEMA) -> None:
    """Everything that a good run needs, in its place."""
    prompt = {"schemaVersion": 1, "systemInstruction": SECRET_SYSTEM, "userPrompt": SECRET_PROMPT}
    system.put(f"llm_prompts/{PROMPT}", prompt)
    system.put(f"llm_schemas/{schema_id}", schema_document(schema, schema_id))
    system.put_object(OHLCV_OBJECT, candle_file())
    system.put_object(MANIFEST_OBJECT, manifest("Price with averages", "Oscillators"))
    for template in ("ctpl_0_v1", "ctpl_1_v1"):
        system.put_object(image_object(template), PNG + template.encode(), "image/png")


def schema_document(schema: object = PLAIN, schema_id: str = SCHEMA, **changes: object) -> dict[str, object]:
    document = {"schemaId": schema_id, "kind": "LLM_REPORT_OUTPUT", "createdAt": "2025-12-24T12:00:00Z"}
    return {**document, "jsonSchema": schema, "sha256": "0" * 64, **changes}


def shipped(schema_id: str = SCHEMA) -> dict[str, Any]:
    schema: dict[str, Any] = llm_schemas.shipped()[schema_id]["jsonSchema"]
    return schema


def inputs(profile: object = PROFILE, prompt_id: object = PROMPT, **changes: object) -> dict[str, object]:
    given: dict[str, object] = {
        "llm": {"promptId": prompt_id, "llmProfile": profile},
        "ohlcvStepId": OHLCV,
        "chartsManifestStepId": CHARTS,
        **changes,
    }
    return {key: value for key, value in given.items() if value is not None}


def profile(**changes: object) -> dict[str, object]:
    """A good profile with changes; a setting given as None is left out."""
    return {key: value for key, value in {**deepcopy(PROFILE), **changes}.items() if value is not None}


def with_schema(schema_id: str, **more: object) -> dict[str, object]:
    return profile(structuredOutput={"schemaId": schema_id, **more})


def a_report_run(
    given: Mapping[str, object] | None = None,
    *,
    attempts: int = 1,
    report: Mapping[str, object] | None = None,
    ohlcv: Mapping[str, object] | None = None,
    charts: Mapping[str, object] | None = None,
    more: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> dict[str, object]:
    """Candles and charts are done, the report is next; one attempt only, so that its end can be seen."""
    done = {
        OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", timeframe="1M", outputs=_pointer(OHLCV_OBJECT)) | dict(ohlcv or {}),
        CHARTS: a_step("CHART_EXPORT", "SUCCEEDED", timeframe="1M", outputs=_pointer(MANIFEST_OBJECT))
        | dict(charts or {}),
    }
    step = a_step(
        "LLM_REPORT",
        "PENDING",
        [OHLCV, CHARTS],
        timeframe="1M",
        inputs=dict(given if given is not None else inputs()),
        retry={"maxAttempts": attempts},
    )
    return a_run(steps={**done, **more, REPORT: step | dict(report or {})})


def an_earlier_report(**changes: object) -> dict[str, object]:
    return a_step("LLM_REPORT", "SUCCEEDED", timeframe="1w", outputs=_pointer(EARLIER_OBJECT)) | changes


def _pointer(name: str) -> dict[str, str]:
    return {"gcs_uri": f"gs://{BUCKET}/{name}"}


# --- what came of it ---


def outcome(system: System, document: Mapping[str, object]) -> dict[str, Any]:
    """The report step after everything has happened."""
    return system.step(system.start(document), REPORT)


def written(system: System) -> dict[str, Any]:
    content = system.object(REPORT_OBJECT)
    assert content is not None, system.objects()
    report: dict[str, Any] = json.loads(content)
    return report


def model_calls(system: System) -> int:
    return system.calls("gemini", "generateContent")


def failed_with(step: Mapping[str, Any], code: str, reason: str | None = None) -> bool:
    error = step.get("error") or {}
    assert step["status"] == "FAILED", step
    assert error["code"] == code, error
    assert reason is None or error["details"]["reason"] == reason, error
    return True
