"""What cannot be used is found before anything is paid: each row names the mistake, the code, and a word that helps."""

import gzip
from copy import deepcopy
from typing import Any

import pytest

from flowcore.testing.builders import CHARTS, OHLCV, a_step
from tests.functions.llm_report import scene
from tests.functions.llm_report.scene import failed_with, inputs, profile, with_schema
from tests.functions.system import BUCKET, System


def refused(system: System, document: dict[str, object], code: str, reason: str | None = None) -> str:
    """The message of a step that failed in that way, without a call."""
    step = scene.outcome(system, document)
    assert failed_with(step, code, reason)
    assert scene.model_calls(system) == 0
    assert step["error"]["retryable"] is False
    return str(step["error"]["message"])


# --- the prompt ---


@pytest.mark.acceptance("E2")
@pytest.mark.parametrize(
    "prompt_id", ["prompt_DOES_NOT_EXIST", "a/b", "a/b/c", "..", "", "\n", "a\x00b", "__x__", "ünï.code v1", "x" * 2000]
)
def test_a_prompt_that_does_not_exist(system: System, prompt_id: str) -> None:
    scene.set_up(system)
    message = refused(system, scene.a_report_run(inputs(prompt_id=prompt_id)), "PROMPT_NOT_FOUND")
    assert message.startswith("inputs.llm.promptId:")


@pytest.mark.acceptance("E3")
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"schemaVersion": 2}, "schemaVersion"),
        ({"schemaVersion": True}, "schemaVersion"),
        ({"userPrompt": "  \n"}, "userPrompt"),
        ({"userPrompt": 7}, "userPrompt"),
        ({"systemInstruction": None}, "systemInstruction"),
    ],
)
def test_a_prompt_that_is_malformed(system: System, changes: dict[str, object], place: str) -> None:
    scene.set_up(system)
    good = {"schemaVersion": 1, "systemInstruction": "Be brief.", "userPrompt": "Write."}
    system.put(f"llm_prompts/{scene.PROMPT}", {**good, **changes})
    message = refused(system, scene.a_report_run(), "PROMPT_NOT_FOUND", "malformed")
    assert f"llm_prompts/{scene.PROMPT}.{place}" in message


# --- the profile ---


@pytest.mark.acceptance("E4", "E5", "E6", "E8")
@pytest.mark.parametrize(
    ("given", "place"),
    [
        (profile(responseMimeType="text/plain"), ".responseMimeType"),
        (profile(responseMimeType=None), ".responseMimeType"),
        (profile(candidateCount=2), ".candidateCount"),
        (profile(structuredOutput=None), ".structuredOutput"),
        (with_schema(" "), ".structuredOutput.schemaId"),
        *(
            (with_schema(odd), ".structuredOutput.schemaId")
            for odd in (
                "llm_report_output_vX",
                "llm_report_output_v0",
                "llm_report_output_v4_depth5",
                "llm_schema_1M_report_v1_0",
                "llm_report_output_v1\n",
            )
        ),
        (profile(modelName=None), ".modelName"),
        (None, ":"),
    ],
)
def test_a_profile_that_cannot_be_used(system: System, given: object, place: str) -> None:
    scene.set_up(system)
    message = refused(system, scene.a_report_run(inputs(given)), "LLM_PROFILE_INVALID", "profile_malformed")
    assert message.startswith(f"inputs.llm.llmProfile{place}")


@pytest.mark.acceptance("E37")
def test_a_model_that_is_not_allowed(system: System) -> None:
    scene.set_up(system)
    with system.configured(GEMINI_ALLOWED_MODELS="gemini-3.5-flash-lite, gemini-3.1-pro-preview"):
        message = refused(system, scene.a_report_run(), "LLM_PROFILE_INVALID", "model_not_allowed")
    assert scene.MODEL in message


@pytest.mark.acceptance("E37")
def test_a_model_that_is_allowed(system: System) -> None:
    scene.set_up(system)
    with system.configured(GEMINI_ALLOWED_MODELS=f"gemini-3.5-flash-lite,{scene.MODEL}"):
        assert scene.outcome(system, scene.a_report_run())["status"] == "SUCCEEDED"


# --- the schema ---


def changed(*path: str, to: object) -> dict[str, Any]:
    schema = deepcopy(scene.PLAIN)
    place: Any = schema
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return schema


@pytest.mark.acceptance("E9")
@pytest.mark.parametrize(
    "document",
    [
        scene.schema_document("no map"),
        scene.schema_document(None),
        scene.schema_document(kind="LLM_RECOMMENDATION_OUTPUT"),
        scene.schema_document(schemaId="llm_report_output_v2"),
    ],
)
def test_a_schema_document_that_is_malformed(system: System, document: dict[str, object]) -> None:
    scene.set_up(system)
    system.put(f"llm_schemas/{scene.SCHEMA}", document)
    message = refused(system, scene.a_report_run(), "LLM_PROFILE_INVALID", "schema_unusable")
    assert message.startswith(f"llm_schemas/{scene.SCHEMA}.")


@pytest.mark.acceptance("E9")
def test_a_schema_that_does_not_exist(system: System) -> None:
    scene.set_up(system)
    given = inputs(with_schema("llm_report_output_v99"))
    message = refused(system, scene.a_report_run(given), "LLM_PROFILE_INVALID", "schema_not_found")
    assert "llm_schemas/llm_report_output_v99" in message


@pytest.mark.acceptance("E10", "E11")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (changed("required", to=["summary"]), "does not require details"),
        (changed("required", to=["details"]), "does not require summary"),
        (changed("properties", "summary", "required", to=[]), "does not require summary.markdown"),
        (
            changed("properties", "summary", "properties", "markdown", to={"type": "number"}),
            "summary.markdown is not of type string",
        ),
        (changed("properties", "details", to={"$ref": "#/$defs/gone"}), "'#/$defs/gone' points at no schema"),
    ],
)
def test_a_schema_that_is_unfit(system: System, schema: dict[str, Any], words: str) -> None:
    scene.set_up(system, schema)
    message = refused(system, scene.a_report_run(), "LLM_PROFILE_INVALID", "schema_unusable")
    assert words in message


# --- the material ---


@pytest.mark.acceptance("E13", "E15", "E16")
@pytest.mark.parametrize(
    ("document", "words"),
    [
        (scene.a_report_run(inputs(ohlcvStepId=None)), "inputs.ohlcvStepId"),
        (scene.a_report_run(inputs(ohlcvStepId="nobody")), "inputs.ohlcvStepId: 'nobody' is not a step"),
        (
            scene.a_report_run(
                inputs(ohlcvStepId="later"), more={"later": a_step("OHLCV_EXPORT", "SKIPPED", timeframe="1w")}
            ),
            "inputs.ohlcvStepId: 'later' is SKIPPED",
        ),
        (scene.a_report_run(inputs(chartsManifestStepId=None)), "inputs.chartsManifestStepId"),
        (
            scene.a_report_run(inputs(previousReportStepIds=["nobody"])),
            "inputs.previousReportStepIds.0: 'nobody' is not a step",
        ),
        (scene.a_report_run(inputs(previousReportStepIds=[OHLCV])), "is a OHLCV_EXPORT, not an LLM_REPORT"),
        (
            scene.a_report_run(
                inputs(previousReportStepIds=[scene.EARLIER]),
                more={scene.EARLIER: a_step("LLM_REPORT", "SKIPPED", timeframe="1w")},
            ),
            "its outputs.gcs_uri cannot be used",
        ),
        (
            scene.a_report_run(inputs(previousReports=[{}])),
            "inputs.previousReports.0: Value error, needs a stepId or a gcs_uri",
        ),
        (scene.a_report_run(inputs(previousReports=[{"stepId": CHARTS}])), "is a CHART_EXPORT, not an LLM_REPORT"),
        (
            scene.a_report_run(inputs(previousReports=[{"gcs_uri": "file:///etc/passwd"}])),
            "is not gs://bucket/object",
        ),
    ],
)
def test_inputs_that_name_nothing_usable(system: System, document: dict[str, object], words: str) -> None:
    scene.set_up(system)
    assert words in refused(system, document, "INVALID_STEP_INPUTS")


ELSEWHERE = "gs://somebody-elses/x.json"


@pytest.mark.parametrize(
    "document",
    [
        scene.a_report_run(ohlcv={"outputs": {"gcs_uri": ELSEWHERE}}),
        scene.a_report_run(charts={"outputs": {"gcs_uri": ELSEWHERE}}),
        scene.a_report_run(charts={"outputs": {"outputsManifestGcsUri": ELSEWHERE}}),
        scene.a_report_run(inputs(previousReports=[{"gcs_uri": ELSEWHERE}])),
    ],
    ids=["candles", "manifest", "older manifest", "report"],
)
def test_a_bucket_that_nobody_allowed_is_not_looked_at(system: System, document: dict[str, object]) -> None:
    scene.set_up(system)
    assert ELSEWHERE in refused(system, document, "INVALID_STEP_INPUTS", "bucket_not_allowed")
    assert system.calls("storage", resource="somebody-elses*") == 0


def test_a_picture_of_a_bucket_that_nobody_allowed_is_not_looked_at(system: System) -> None:
    scene.set_up(system)
    system.put_object(scene.MANIFEST_OBJECT, scene.manifest("Price").replace(b"gs://artifacts/", b"gs://elsewhere/"))
    refused(system, scene.a_report_run(), "INVALID_STEP_INPUTS", "bucket_not_allowed")
    assert system.calls("storage", resource="elsewhere*") == 0


def test_a_report_is_read_from_a_bucket_that_operators_allow(system: System) -> None:
    scene.set_up(system)
    system.storage.create_bucket("archive").blob("old.json").upload_from_string(scene.report_file("Long ago."))
    document = scene.a_report_run(inputs(previousReports=[{"gcs_uri": "gs://archive/old.json"}]))
    with system.configured(READABLE_BUCKETS="archive"):
        assert scene.outcome(system, document)["status"] == "SUCCEEDED"


FIRST_IMAGE = scene.image_object("ctpl_0_v1")


@pytest.mark.acceptance("E17")
@pytest.mark.parametrize(
    ("name", "content"),
    [(scene.EARLIER_OBJECT, scene.report_of_size(65_537)), (FIRST_IMAGE, scene.PNG.ljust(262_145, b"."))],
    ids=["report", "image"],
)
def test_nothing_is_read_of_what_is_too_large(system: System, name: str, content: bytes) -> None:
    scene.set_up(system)
    system.put_object(scene.EARLIER_OBJECT, scene.report_file())
    system.put_object(name, content)
    document = scene.a_report_run(
        inputs(previousReportStepIds=[scene.EARLIER]), more={scene.EARLIER: scene.an_earlier_report()}
    )
    refused(system, document, "INVALID_STEP_INPUTS", "too_large")
    place = f"{BUCKET}/{name}"
    assert (system.calls("storage", "objects.get", place), system.calls("storage", "objects.get_media", place)) == (
        1,
        0,
    )


@pytest.mark.acceptance("E17")
def test_a_report_that_was_stored_small_and_turns_out_large_is_refused(system: System) -> None:
    scene.set_up(system)
    blob = system.bucket.blob(scene.EARLIER_OBJECT)
    blob.content_encoding = "gzip"
    blob.upload_from_string(gzip.compress(scene.report_of_size(65_537)), "application/json")
    document = scene.a_report_run(
        inputs(previousReportStepIds=[scene.EARLIER]), more={scene.EARLIER: scene.an_earlier_report()}
    )
    assert "has 65537 bytes" in refused(system, document, "INVALID_STEP_INPUTS", "too_large")


@pytest.mark.acceptance("E17", "E18")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (scene.EARLIER_OBJECT, scene.report_of_size(65_537), "has 65537 bytes, at most 65536 are sent"),
        (FIRST_IMAGE, scene.PNG.ljust(262_145, b"."), "has 262145 bytes, at most 262144 are sent"),
        *(
            (name, content, words)
            for name, content, words in [
                (scene.OHLCV_OBJECT, None, "does not exist"),
                (scene.OHLCV_OBJECT, b"\xff\xfe\xfa", "no file of candles"),
                (scene.OHLCV_OBJECT, b"time,open\n", "no file of candles"),
                (scene.OHLCV_OBJECT, scene.candle_file(0), "has no candles"),
                (scene.MANIFEST_OBJECT, None, "does not exist"),
                (scene.MANIFEST_OBJECT, b"\xff\xfe\xfa", "no manifest"),
                (scene.MANIFEST_OBJECT, b"{", "no manifest"),
                (scene.MANIFEST_OBJECT, scene.manifest(), "lists no images"),
                (FIRST_IMAGE, None, "does not exist"),
                (FIRST_IMAGE, b"GIF89a", "is no PNG"),
                (scene.EARLIER_OBJECT, None, "does not exist"),
                (scene.EARLIER_OBJECT, '{"output": {"a": "ü"}}'.encode("latin-1"), "no report"),
                (scene.EARLIER_OBJECT, b"# A report", "no report"),
                (scene.EARLIER_OBJECT, b'{"output": "text"}', "no report"),
                (scene.EARLIER_OBJECT, b"[" * 60_000, "no report"),
            ]
        ),
    ],
)
def test_material_that_cannot_be_used(system: System, name: str, content: bytes | None, words: str) -> None:
    scene.set_up(system)
    system.put_object(scene.EARLIER_OBJECT, scene.report_file())
    if content is None:
        system.bucket.blob(name).delete()
    else:
        system.put_object(name, content)
    document = scene.a_report_run(
        inputs(previousReportStepIds=[scene.EARLIER]), more={scene.EARLIER: scene.an_earlier_report()}
    )
    message = refused(system, document, "INVALID_STEP_INPUTS")
    assert words in message
    assert f"gs://{BUCKET}/{name}" in message
