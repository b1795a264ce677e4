"""The contract between the worker that draws and the one that looks: written, read back, and described as a schema."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flowcore.contracts.charts import ChartFailure, ChartItem, ChartTemplate, Manifest, read_manifest
from flowcore.domain.artifacts import canonical_json
from flowcore.domain.errors import Code, StepError, ValidationError
from flowcore.testing.builders import CHARTS, RUN_ID
from flowcore.testing.world import T0
from tests.functions.charts.test_figure import TEMPLATES

SCHEMA = json.loads((Path(__file__).parents[3] / "spec/charts_manifest.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
MANIFEST = Manifest(
    run_id=RUN_ID,
    step_id=CHARTS,
    created_at=T0,
    symbol="BTCUSDT",
    timeframe="1M",
    min_images=1,
    requested=("one", "two", "three"),
    items=(ChartItem("two", "Price and volume", T0, "gs://artifacts/charts/two.png"),),
    failures=(
        ChartFailure("one", StepError(Code.CHART_API_FAILED, "Chart-IMG answered 400", details={"status": 400})),
        ChartFailure("three", StepError(Code.GCS_WRITE_FAILED, "no answer", retryable=True)),
    ),
)


def written() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(canonical_json(MANIFEST.as_json()))
    return value


def test_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_what_is_written_fits_the_schema_and_comes_back_the_same() -> None:
    VALIDATOR.validate(written())
    assert read_manifest(canonical_json(MANIFEST.as_json())) == MANIFEST


def test_an_error_without_details_says_nothing_of_them() -> None:
    first, second = written()["failures"]
    assert first["error"]["details"] == {"status": 400}
    assert "details" not in second["error"]


def test_fields_of_a_newer_writer_are_passed_over() -> None:
    newer = written() | {"schemaVersion": 2, "palette": "dark"}
    newer["items"][0] |= {"label": "x", "meta": {}}
    assert read_manifest(json.dumps(newer).encode()) == MANIFEST


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runId",), 5),
        (("createdAt",), "yesterday"),
        (("minImages",), True),
        (("minImages",), -1),
        (("schemaVersion",), 0),
        (("requested", 0), "one"),
        (("items",), None),
        (("items", 0, "png_gcs_uri"), ""),
        (("items", 0, "kind"), None),
        (("failures", 0, "error"), "broken"),
        (("failures", 0, "error", "details"), None),
        (("failures", 0, "request"), []),
    ],
)
def test_what_is_no_manifest_is_neither_read_nor_valid(path: tuple[str | int, ...], value: object) -> None:
    broken: Any = copy.deepcopy(written())
    inner = broken
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match="no manifest of charts"):
        read_manifest(json.dumps(broken).encode())
    assert not VALIDATOR.is_valid(broken)


@pytest.mark.parametrize("name", ["runId", "requested", "items", "failures", "symbol", "timeframe", "minImages"])
def test_every_field_is_needed(name: str) -> None:
    broken = {key: value for key, value in written().items() if key != name}
    with pytest.raises(ValueError, match="no manifest of charts"):
        read_manifest(json.dumps(broken).encode())
    assert not VALIDATOR.is_valid(broken)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_manifest(content: bytes) -> None:
    with pytest.raises(ValueError, match="no manifest of charts"):
        read_manifest(content)


# --- templates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_that_ship_can_be_read(name: str) -> None:
    template = ChartTemplate.read(name, TEMPLATES[name])
    assert template.symbol_template == "BINANCE:{symbol}"
    assert len(template.description) > 20


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"description": " "}, "description"),
        ({"description": None}, "description"),
        ({"chartImgSymbolTemplate": "BINANCE:BTCUSDT"}, "chartImgSymbolTemplate"),
        ({"chartImgSymbolTemplate": "../{symbol}"}, "chartImgSymbolTemplate"),
        ({"chartImgSymbolTemplate": None}, "chartImgSymbolTemplate"),
        ({"request": "dark"}, "request"),
    ],
)
def test_a_template_that_cannot_be_used_says_where(change: dict[str, object], place: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        ChartTemplate.read("t", {**TEMPLATES["ctpl_price_psar_adi_v1"], **change})
    assert refusal.value.error.message.startswith(f"chart_templates/t.{place} must")
    assert refusal.value.error.code == Code.INVALID_STEP_INPUTS
