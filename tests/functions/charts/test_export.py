"""A chart step, through real events: what it makes, what it tells of what it could not make, and what it refuses."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from emulator.faults import status
from flowcore.contracts.charts import read_manifest
from flowcore.domain.artifacts import Artifact, description, ownership, sha256
from flowcore.domain.times import to_text
from flowcore.testing.builders import CHARTS, OHLCV, RUN_ID, a_run, parsed
from tests.functions.charts.desk import FOLDER, Desk, chart_run
from tests.functions.charts.market import candle_file, walk
from tests.functions.charts.test_manifest import VALIDATOR
from tests.functions.system import System


def failures(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["request"]["chartTemplateId"], each["error"]["code"]) for each in manifest["failures"]]


def items(manifest: dict[str, Any]) -> list[str]:
    return [each["chartTemplateId"] for each in manifest["items"]]


# --- success ----------------------------------------------------------------------------------------------


@pytest.mark.acceptance("D1")
@pytest.mark.parametrize("renderer", ["local", "chart_img"])
def test_charts_and_their_manifest(desk: Desk, renderer: str) -> None:
    with desk.buying() if renderer == "chart_img" else desk.system.configured():
        step = desk.start(chart_run())
    assert step["status"] == "SUCCEEDED", step
    assert desk.objects() == ["manifest.json", "one.png", "two.png"]
    uri = f"gs://artifacts/{FOLDER}/manifest.json"
    assert (step["outputs"]["gcs_uri"], step["outputs"]["outputsManifestGcsUri"]) == (uri, uri)
    image = Image.open(io.BytesIO(desk.system.object(f"{FOLDER}/one.png") or b""))
    image.load()
    assert image.size == ((1200, 800) if renderer == "local" else (800, 600))
    assert desk.orders() == (0 if renderer == "local" else 2)


@pytest.mark.acceptance("D2")
def test_the_manifest_says_what_was_asked_and_what_came_of_it(desk: Desk) -> None:
    desk.load("two", description="The second one")
    desk.start(chart_run(["two", "one"]))
    manifest = desk.manifest()
    VALIDATOR.validate(manifest)
    assert manifest["schemaVersion"] == 1
    assert (manifest["runId"], manifest["stepId"]) == (RUN_ID, CHARTS)
    assert (manifest["symbol"], manifest["timeframe"], manifest["minImages"]) == ("BTCUSDT", "1d", 2)
    assert manifest["requested"] == [{"chartTemplateId": "two"}, {"chartTemplateId": "one"}]
    assert manifest["failures"] == []
    first, second = manifest["items"]
    assert (first["chartTemplateId"], first["kind"]) == ("two", "The second one")
    assert first["png_gcs_uri"] == f"gs://artifacts/{FOLDER}/two.png"
    assert first["generatedAt"] <= second["generatedAt"] <= manifest["createdAt"]
    assert read_manifest(json.dumps(manifest).encode()).items[1].chart_template_id == "one"


@pytest.mark.acceptance("D7")
def test_one_template_may_be_named_without_a_list(desk: Desk) -> None:
    inputs = {"chartTemplateId": "one", "minImages": 1}
    document = chart_run()
    steps: Any = document["steps"]
    steps[CHARTS]["inputs"] = inputs
    assert desk.start(document)["status"] == "SUCCEEDED"
    assert desk.manifest()["requested"] == [{"chartTemplateId": "one"}]


def test_without_a_minimum_all_of_them_are_needed(desk: Desk) -> None:
    step = desk.start(chart_run(["one", "nowhere"], inputs={"minImages": None}))
    assert step["status"] == "FAILED"
    assert desk.manifest("manifest.attempt-1.json")["minImages"] == 2


# --- some fail --------------------------------------------------------------------------------------------


@pytest.mark.acceptance("D3")
def test_enough_is_a_success(desk: Desk) -> None:
    desk.plan(status(400), times=1)
    with desk.buying():
        step = desk.start(chart_run(["one", "two", "three"], inputs={"minImages": 2}))
    assert step["status"] == "SUCCEEDED"
    manifest = desk.manifest()
    VALIDATOR.validate(manifest)
    assert (items(manifest), failures(manifest)) == (["two", "three"], [("one", "CHART_API_FAILED")])
    assert set(manifest["failures"][0]["error"]) == {"code", "message", "details"}


@pytest.mark.acceptance("D4")
def test_too_few_fail_the_step_and_leave_evidence(desk: Desk) -> None:
    desk.plan(status(422), times=1)
    desk.plan(status(400), times=1)
    with desk.buying():
        step = desk.start(chart_run(["one", "two", "three"], inputs={"minImages": 2}))
    assert step["status"] == "FAILED"
    assert step["error"]["code"] == "CHART_API_FAILED"
    assert "chart one of BINANCE:BTCUSDT: Chart-IMG answered 422" in step["error"]["message"]
    assert "1 of 3 charts made, 2 needed" in step["error"]["message"]
    assert step["outputs"]["outputsManifestGcsUri"] == f"gs://artifacts/{FOLDER}/manifest.attempt-1.json"
    evidence = desk.manifest("manifest.attempt-1.json")
    VALIDATOR.validate(evidence)
    assert (items(evidence), [name for name, _ in failures(evidence)]) == (["three"], ["one", "two"])
    assert "manifest.json" not in desk.objects()
    assert desk.system.run(RUN_ID)["status"] == "FAILED"


def test_a_failure_that_may_pass_decides_when_its_chart_would_be_enough(desk: Desk) -> None:
    """One is refused for good; with the other, which met bad weather, there would be enough."""
    desk.plan(status(422), times=1)
    desk.plan(status(503), times=3)
    with desk.buying():
        step = desk.start(chart_run(["one", "two", "three"], inputs={"minImages": 2}))
    assert (step["error"]["code"], step["error"]["retryable"]) == ("CHART_API_FAILED", True)
    assert "chart two" in step["error"]["message"]


def test_a_failure_for_good_decides_when_no_retry_could_be_enough(desk: Desk) -> None:
    desk.plan(status(503), times=3)
    desk.plan(status(422), times=1)
    with desk.buying():
        step = desk.start(chart_run(["one", "two", "three"], inputs={"minImages": 3}))
    assert (step["error"]["retryable"], step["status"]) == (False, "FAILED")
    assert "chart two" in step["error"]["message"]


@pytest.mark.acceptance("D5")
def test_nothing_is_enough_when_nothing_is_needed(desk: Desk) -> None:
    desk.plan(status(404))
    with desk.buying():
        step = desk.start(chart_run(inputs={"minImages": 0}))
    assert step["status"] == "SUCCEEDED"
    assert desk.manifest()["items"] == []
    assert len(desk.manifest()["failures"]) == 2


@pytest.mark.acceptance("D9")
def test_a_missing_template_costs_its_own_chart(desk: Desk) -> None:
    step = desk.start(chart_run(["nowhere", "one"], inputs={"minImages": 1}))
    assert step["status"] == "SUCCEEDED"
    (failure,) = desk.manifest()["failures"]
    assert failure["request"] == {"chartTemplateId": "nowhere"}
    assert failure["error"]["message"].startswith("chart_templates/nowhere: template not found")
    assert failure["error"]["details"] == {"reason": "template_not_found"}


@pytest.mark.acceptance("D10")
def test_when_all_templates_are_missing_the_step_says_so(desk: Desk) -> None:
    step = desk.start(chart_run(["here", "there"]))
    assert (step["status"], step["error"]["code"]) == ("FAILED", "INVALID_STEP_INPUTS")
    assert step["error"]["message"].startswith("chart_templates/here: template not found")


@pytest.mark.acceptance("D12")
def test_a_symbol_template_without_a_place_costs_its_own_chart(desk: Desk) -> None:
    desk.load("one", chartImgSymbolTemplate="BINANCE:BTCUSDT")
    step = desk.start(chart_run(inputs={"minImages": 1}))
    assert step["status"] == "SUCCEEDED"
    (failure,) = desk.manifest()["failures"]
    assert "chart_templates/one.chartImgSymbolTemplate" in failure["error"]["message"]


def test_a_study_that_is_not_drawn_costs_its_own_chart(desk: Desk) -> None:
    desk.load("one", request={"studies": [{"name": "Moon Phase"}]})
    assert desk.start(chart_run(inputs={"minImages": 1}))["status"] == "SUCCEEDED"
    (failure,) = desk.manifest()["failures"]
    assert "chart_templates/one.request.studies.0.name: 'Moon Phase'" in failure["error"]["message"]


# --- refused before anything is made ----------------------------------------------------------------------


@pytest.mark.acceptance("D6")
@pytest.mark.parametrize("value", [3, -1, True, "2", 1.5], ids=str)
def test_a_minimum_that_makes_no_sense(desk: Desk, value: object) -> None:
    refused(desk, chart_run(inputs={"minImages": value}), "inputs.minImages")


@pytest.mark.acceptance("D8")
def test_a_chart_that_is_asked_for_twice(desk: Desk) -> None:
    refused(desk, chart_run(["one", "two", "one"]), "inputs.requests.2.chartTemplateId")


@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ({"requests": []}, "inputs.requests"),
        ({"requests": "one"}, "inputs.requests"),
        ({"requests": ["one"]}, "inputs.requests.0"),
        ({"requests": [{"chartTemplateId": "../x"}], "minImages": 0}, "inputs.requests.0.chartTemplateId"),
        ({"requests": [{"chartTemplateId": "a/b"}], "minImages": 0}, "inputs.requests.0.chartTemplateId"),
        ({"requests": [{"chartTemplateId": ""}], "minImages": 0}, "inputs.requests.0.chartTemplateId"),
        ({"requests": [{"chartTemplateId": 5}], "minImages": 0}, "inputs.requests.0.chartTemplateId"),
    ],
)
def test_requests_that_cannot_be_read(desk: Desk, inputs: dict[str, object], place: str) -> None:
    refused(desk, chart_run(inputs=inputs), place)


@pytest.mark.acceptance("D12")
@pytest.mark.parametrize("symbol", ["BTC/USDT", "BTC USDT", "", None, 5, "../x", "A" * 41])
def test_a_symbol_that_is_none(desk: Desk, symbol: object) -> None:
    refused(desk, chart_run(scope={"symbol": symbol}), "scope.symbol")


@pytest.mark.acceptance("D31")
@pytest.mark.parametrize("timeframe", ["", None])
def test_a_step_without_a_timeframe_is_not_stuck(desk: Desk, timeframe: str | None) -> None:
    refused(desk, chart_run(timeframe=timeframe), f"steps.{CHARTS}.timeframe")


def refused(desk: Desk, document: dict[str, object], place: str) -> None:
    with desk.buying():
        step = desk.start(document)
    assert (step["status"], step["error"]["code"]) == ("FAILED", "INVALID_STEP_INPUTS")
    assert step["error"]["message"].startswith(place)
    assert (desk.orders(), desk.objects(), desk.usage()) == (0, [], None)


@pytest.mark.acceptance("D29")
@pytest.mark.parametrize("run_status", ["CANCELLED", "FAILED"])
def test_a_step_of_a_finished_run_is_not_touched(desk: Desk, run_status: str) -> None:
    with desk.buying():
        step = desk.start(chart_run(run_status=run_status))
    assert "attempt" not in step
    assert "step_claimed" not in [line["event"] for line in desk.system.logs]
    assert (desk.orders(), desk.objects()) == (0, [])


@pytest.mark.acceptance("D30")
@pytest.mark.parametrize("run_id", ["bad.id", "-dash", "umlaut-ü"])
def test_a_run_id_that_cannot_be_part_of_a_name(desk: Desk, run_id: str) -> None:
    document = {**chart_run(), "runId": run_id}
    with desk.buying():
        desk.system.start(document)
    assert (desk.orders(), desk.system.objects()) == (0, [])
    assert desk.system.run(run_id)["steps"][CHARTS]["status"] != "RUNNING"


# --- objects ----------------------------------------------------------------------------------------------


def owned(document: dict[str, object], artifact: Artifact) -> dict[str, str]:
    """What an object of the chart step says of itself."""
    assert isinstance(artifact.content, bytes)
    step = parsed(document).steps[CHARTS]
    return {**ownership(RUN_ID, step), **description(artifact, sha256(artifact.content))}


@pytest.mark.acceptance("D24")
def test_a_chart_that_was_made_before_the_crash_is_not_bought_again(desk: Desk) -> None:
    document = chart_run(attempt=1, leaseLosses=1)
    made = Artifact(b"\x89PNG of the first attempt", "image/png", {"generatedAt": "2025-12-24T11:00:00Z"})
    desk.system.put_object(f"{FOLDER}/one.png", b"\x89PNG of the first attempt", "image/png", owned(document, made))
    with desk.buying():
        step = desk.start(document)
    assert step["status"] == "SUCCEEDED"
    assert desk.orders() == 1
    assert desk.objects() == ["manifest.json", "one.png", "two.png"]
    first, second = desk.manifest()["items"]
    assert first["generatedAt"] == "2025-12-24T11:00:00Z"
    assert second["generatedAt"] > first["generatedAt"]
    assert desk.system.object(first["png_gcs_uri"]) == b"\x89PNG of the first attempt"


@pytest.mark.acceptance("D24")
def test_the_next_attempt_goes_on_where_the_last_one_failed(desk: Desk) -> None:
    broken = desk.plan(status(503), skip=1, times=3)
    with desk.buying():
        step = desk.start(chart_run(retry={"maxAttempts": 2}))
        assert (step["status"], broken.fired, desk.orders()) == ("PENDING", 3, 4)
        desk.system.later(120)
        desk.system.sweep()
    assert desk.step()["status"] == "SUCCEEDED"
    assert desk.orders() == 5
    assert desk.objects() == ["manifest.attempt-1.json", "manifest.json", "one.png", "two.png"]


@pytest.mark.acceptance("D25")
def test_a_manifest_that_exists_is_the_result(desk: Desk) -> None:
    long_ago = datetime.now(UTC) - timedelta(minutes=2)
    lease = {"token": "gone", "expiresAt": to_text(long_ago + timedelta(minutes=10))}
    document = chart_run(status="RUNNING", attempt=1, startedAt=to_text(long_ago), lease=lease)
    uri = f"gs://artifacts/{FOLDER}/manifest.json"
    made = Artifact.json({"items": []}, outputs={"outputsManifestGcsUri": uri})
    assert isinstance(made.content, bytes)
    desk.system.put_object(uri, made.content, metadata=owned(document, made))
    with desk.buying():
        step = desk.start(document)
    assert step["status"] == "SUCCEEDED"
    assert (step["outputs"]["gcs_uri"], step["outputs"]["outputsManifestGcsUri"]) == (uri, uri)
    assert step["outputs"]["execution"]["reused"] is True
    assert desk.orders() == 0


@pytest.mark.acceptance("D26")
def test_a_picture_that_cannot_be_stored_is_one_failure(desk: Desk) -> None:
    lost = desk.system.faults.add(service="storage", method="objects.insert", resource="*one.png", action=status(503))
    with desk.buying():
        step = desk.start(chart_run(inputs={"minImages": 1}))
    assert step["status"] == "SUCCEEDED"
    assert failures(desk.manifest()) == [("one", "GCS_WRITE_FAILED")]
    assert (lost.fired, desk.orders()) == (5, 2)


@pytest.mark.acceptance("D27")
def test_a_manifest_that_cannot_be_stored_fails_the_step_and_buys_nothing_more(desk: Desk) -> None:
    lost = desk.system.faults.add(
        service="storage", method="objects.insert", resource="*manifest.json", action=status(503)
    )
    with desk.buying():
        step = desk.start(chart_run())
    assert (step["status"], step["error"]["code"]) == ("FAILED", "GCS_WRITE_FAILED")
    assert (lost.fired, desk.orders()) == (5, 2)
    assert desk.objects() == ["one.png", "two.png"]


def test_evidence_that_cannot_be_stored_does_not_hide_the_cause(desk: Desk) -> None:
    desk.system.faults.add(service="storage", method="objects.insert", resource="*attempt-1*", action=status(503))
    step = desk.start(chart_run(["nowhere"]))
    assert step["error"]["code"] == "INVALID_STEP_INPUTS"
    assert "outputsManifestGcsUri" not in step["outputs"]
    assert "chart_evidence_lost" in [line["event"] for line in desk.system.logs]


# --- candles ----------------------------------------------------------------------------------------------


def test_same_candles_same_picture(desk: Desk) -> None:
    desk.start(chart_run(["one"]))
    first = desk.system.object(f"{FOLDER}/one.png")
    desk.system.bucket.blob(f"{FOLDER}/one.png").delete()
    desk.system.bucket.blob(f"{FOLDER}/manifest.json").delete()
    desk.start(chart_run(["one"], attempt=1))
    assert desk.system.object(f"{FOLDER}/one.png") == first


@pytest.mark.parametrize(
    "inputs", [{"ohlcvStepId": OHLCV}, {"ohlcv_gcs_uri": "gs://artifacts/candles.json"}], ids=["step", "file"]
)
def test_candles_may_be_named(desk: Desk, inputs: dict[str, object]) -> None:
    document = chart_run(["one"], inputs=inputs)
    assert desk.start(document)["status"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("content", "words", "reason"),
    [
        (candle_file([]), "holds no candle to draw", "no_rows"),
        (candle_file(walk(3), symbol="ETHUSDT"), "holds candles of ETHUSDT 1d, but the step draws BTCUSDT 1d", None),
        (candle_file(walk(3), timeframe="4h"), "holds candles of BTCUSDT 4h", None),
        (b"{}", "no file of candles", None),
        (b"\x00", "no file of candles", None),
    ],
    ids=["none", "another symbol", "another timeframe", "another file", "no file"],
)
def test_candles_that_cannot_be_drawn_fail_the_step(desk: Desk, content: bytes, words: str, reason: str | None) -> None:
    uri = desk.system.put_object("others.json", content)
    step = desk.start(chart_run(inputs={"ohlcv_gcs_uri": uri, "minImages": 0}))
    assert (step["status"], step["error"]["code"]) == ("FAILED", "INVALID_STEP_INPUTS")
    assert words in step["error"]["message"]
    assert step["error"].get("details", {}).get("reason") == reason


def in_another_bucket(desk: Desk) -> str:
    bucket = desk.system.storage.create_bucket("somebody-elses")
    bucket.blob("candles.json").upload_from_string(candle_file(walk(60)))
    return "gs://somebody-elses/candles.json"


@pytest.mark.parametrize("named_by", ["the step itself", "the output of another step"])
def test_candles_of_a_bucket_that_nobody_allowed_are_not_looked_at(desk: Desk, named_by: str) -> None:
    uri = in_another_bucket(desk)
    document: Any = chart_run(inputs={"minImages": 0})
    if named_by == "the step itself":
        document["steps"][CHARTS]["inputs"]["ohlcv_gcs_uri"] = uri
    else:
        document["steps"][OHLCV]["outputs"]["gcs_uri"] = uri
    desk.system.faults.calls.clear()
    step = desk.start(document)
    error = step["error"]
    assert (step["status"], error["code"], error["retryable"]) == ("FAILED", "INVALID_STEP_INPUTS", False)
    assert error["details"] == {"reason": "bucket_not_allowed"}
    assert uri in error["message"]
    assert desk.system.calls("storage", resource="somebody-elses*") == 0


def test_candles_of_a_bucket_that_operators_allow_are_drawn(desk: Desk) -> None:
    document = chart_run(["one"], inputs={"ohlcv_gcs_uri": in_another_bucket(desk)})
    with desk.system.configured(READABLE_BUCKETS="somebody-elses"):
        assert desk.start(document)["status"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"ohlcvStepId": "nowhere"}, "inputs.ohlcvStepId: 'nowhere' is not a step of this run"),
        ({"ohlcv_gcs_uri": "gs://artifacts/nowhere.json"}, "gs://artifacts/nowhere.json"),
    ],
)
def test_candles_that_are_not_there_fail_the_step(desk: Desk, inputs: dict[str, object], words: str) -> None:
    step = desk.start(chart_run(inputs=inputs))
    assert (step["status"], step["error"]["code"]) == ("FAILED", "INVALID_STEP_INPUTS")
    assert words in step["error"]["message"]


def test_without_an_export_of_its_timeframe_the_step_says_what_is_missing(system: System) -> None:
    system.start(a_run(steps={CHARTS: {**_lonely(), "retry": {"maxAttempts": 1}}}))
    error = system.step(RUN_ID, CHARTS)["error"]
    assert error["code"] == "INVALID_STEP_INPUTS"
    assert error["message"].startswith("inputs.ohlcvStepId: is missing, and none of the steps in dependsOn")


def _lonely() -> dict[str, object]:
    steps: Any = chart_run()["steps"]
    return {**steps[CHARTS], "dependsOn": []}


# --- recorded answers -------------------------------------------------------------------------------------


@pytest.mark.acceptance("D28")
def test_recorded_answers_need_neither_network_nor_quota(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "BINANCE_BTCUSDT__1d__one.png").write_bytes(b"\x89PNG\r\n\x1a\nrecorded")
    (tmp_path / "BINANCE_BTCUSDT__1d__two__429_LIMIT.json").write_text("{}")
    (tmp_path / "BINANCE_BTCUSDT__1d__three__503_BUSY.json").write_text("{}")
    desk.load("four")
    with desk.system.configured(CHARTS_RENDERER="recorded", CHART_IMG_RECORDINGS=str(tmp_path)):
        desk.start(chart_run(["one", "two", "three", "four"], inputs={"minImages": 1}))
    manifest = desk.manifest()
    VALIDATOR.validate(manifest)
    assert items(manifest) == ["one"]
    errors = {each["request"]["chartTemplateId"]: each["error"] for each in manifest["failures"]}
    assert (errors["two"]["code"], errors["two"]["details"]) == ("RATE_LIMITED", {"reason": "CHART_API_LIMIT_EXCEEDED"})
    assert (errors["three"]["code"], errors["three"]["details"]) == ("CHART_API_FAILED", {"status": 503})
    assert (errors["four"]["code"], errors["four"]["details"]) == (
        "CHART_API_FAILED",
        {"reason": "CHART_API_MOCK_MISSING"},
    )
    assert (desk.orders(), desk.usage()) == (0, None)


@pytest.mark.acceptance("D28")
def test_an_answer_that_was_never_recorded_fails_the_step(desk: Desk, tmp_path: Path) -> None:
    with desk.system.configured(CHARTS_RENDERER="recorded", CHART_IMG_RECORDINGS=str(tmp_path)):
        step = desk.start(chart_run(["one"]))
    assert (step["error"]["code"], step["error"]["retryable"]) == ("CHART_API_FAILED", False)
    assert step["error"]["details"]["reason"] == "CHART_API_MOCK_MISSING"
    assert (desk.orders(), desk.usage()) == (0, None)
