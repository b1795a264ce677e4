"""A stage with everything in its place: what a report and its charts read, before any of it is spoiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tests.chaos.inputs import healthy
from tests.chaos.inputs.stage import SKETCH, Stage

JSON: Final = "application/json"


def prepared(stage: Stage, **spoiled: bytes) -> None:
    """Everything that a report and its charts read, in its place; what is named is replaced."""
    stage.shelf.fields.update(
        {
            healthy.PROMPT_PATH: healthy.PROMPT_FIELDS,
            healthy.SCHEMA_PATH: healthy.SCHEMA_FIELDS,
            healthy.TEMPLATE_PATH: healthy.TEMPLATE_FIELDS,
        }
    )
    put(stage, healthy.CANDLES_OBJECT, spoiled.get("candles", _CANDLES))
    put(stage, healthy.MANIFEST_OBJECT, spoiled.get("manifest", _MANIFEST))
    put(stage, healthy.EARLIER_OBJECT, spoiled.get("earlier", _EARLIER))
    if image := spoiled.get("image", SKETCH):
        put(stage, healthy.IMAGE_OBJECT, image)


@cache
def finished(run_id: str) -> Mapping[str, Any]:
    """A market run that has come to its good end: nobody has a reason to write it."""
    stage = Stage()
    prepared(stage)
    stage.play(run_id, {**healthy.a_market_run(), "runId": run_id})
    return stage.runs.kept[run_id].snapshot.document


def put(stage: Stage, name: str, content: bytes) -> None:
    stage.artifacts.create(name, content, JSON, {})


def a_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_CANDLES: Final = healthy.as_bytes(healthy.candle_file(5))
_MANIFEST: Final = healthy.as_bytes(healthy.manifest_file())
_EARLIER: Final = healthy.as_bytes(healthy.earlier_report())
