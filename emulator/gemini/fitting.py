"""Bending a value until a schema's limits hold: formats, patterns, lengths, bounds, steps, no duplicates."""

import math
from collections.abc import Mapping
from typing import Any, Final

from emulator.gemini.pattern import example

FORMATS: Final = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "duration": "P1D",
    "email": "analyst@example.com",
    "uri": "https://example.com/report",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "127.0.0.1",
    "hostname": "example.com",
}


class Unfit(Exception):
    """Nothing can be written here; further up there may be a way around."""


def fitting(text: str, schema: Mapping[str, Any]) -> str:
    """The text, or one of the right kind, within its limits."""
    if "pattern" in schema:
        found = example(schema["pattern"], schema.get("minLength", 0))
        if found is None:
            raise Unfit(f"nothing was found that matches {schema['pattern']!r}")
        return found
    text = FORMATS.get(schema.get("format", ""), text)
    return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def bounded(value: float, schema: Mapping[str, Any]) -> float:
    """The nearest number that the schema allows, if it allows any."""
    step = schema.get("multipleOf", 0)
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if "exclusiveMinimum" in schema:
        low = max(low, _beyond(schema["exclusiveMinimum"], step, math.inf))
    if "exclusiveMaximum" in schema:
        high = min(high, _beyond(schema["exclusiveMaximum"], -step, -math.inf))
    value = min(max(value, low), high)
    if step:
        value = round(value / step) * step
        value += step if value < low else -step if value > high else 0
    return value


def _beyond(edge: float, step: float, way: float) -> float:
    return edge + step if step else math.nextafter(edge, way)


def distinct(values: list[Any]) -> list[Any]:
    """The same list without repetitions: the later ones are varied, or left out."""
    result: list[Any] = []
    for value in values:
        if value not in result:
            result.append(value)
        elif isinstance(value, str):
            result.append(f"{value} ({len(result) + 1})")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            result.append(value + len(result))
    return result
