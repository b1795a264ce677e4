"""Prompts and schemas that the tests ask with."""

import json
from typing import Any

from google import genai
from google.genai.types import GenerateContentConfig, GenerateContentResponse

MODEL = "gemini-3.8-flash"

REPORT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "trend": {"type": "string", "enum": ["bearish", "neutral", "bullish"]},
        "summary": {"type": "string"},
        "support": {"type": "number"},
        "levels": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 4},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["trend", "summary", "support"],
    "additionalProperties": False,
}


def rows(step: float, count: int = 40, start: float = 100.0) -> list[dict[str, float]]:
    """Candles that go up or down by `step` each."""
    return [
        {"open": price, "high": price + 2, "low": price - 2, "close": price + 1}
        for price in (start + step * number for number in range(count))
    ]


def ask(client: genai.Client, contents: Any, schema: Any = None, **config: Any) -> GenerateContentResponse:
    if schema is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": schema}
    config.setdefault("http_options", {"timeout": 10_000})
    model = config.pop("model", MODEL)
    return client.models.generate_content(model=model, contents=contents, config=GenerateContentConfig(**config))


def answered(client: genai.Client, contents: Any, schema: Any = REPORT) -> Any:
    return json.loads(ask(client, contents, schema).text or "")
