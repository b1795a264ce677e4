"""Where a result lies is a function of run and step alone, and no two steps share a place."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowcore.domain.artifacts import (
    JSON,
    PNG,
    Artifact,
    belongs_to,
    canonical_json,
    chart_evidence,
    chart_image,
    description,
    inputs_sha256,
    main_object,
    ownership,
    recorded,
    sha256,
    side_object,
)
from flowcore.domain.errors import Code, StepFailed
from flowcore.domain.model import Step, StepStatus, is_name
from flowcore.testing.builders import RUN_ID, a_run, parsed


def metadata(step: Step, artifact: Artifact) -> dict[str, str]:
    assert isinstance(artifact.content, bytes)
    return {**ownership(RUN_ID, step), **description(artifact, sha256(artifact.content))}


def a_step(step_type: str, step_id: str = "s1", timeframe: str | None = "1M", **inputs: object) -> Step:
    return Step(step_id, step_type, StepStatus.RUNNING, timeframe=timeframe, inputs=inputs)


@pytest.mark.parametrize(
    ("step_type", "path"),
    [
        ("OHLCV_EXPORT", f"runs/{RUN_ID}/ohlcv/1M.json"),
        ("CHART_EXPORT", f"charts/{RUN_ID}/s1/manifest.json"),
        ("LLM_REPORT", f"runs/{RUN_ID}/reports/1M/s1.json"),
        ("HEATMAP", f"runs/{RUN_ID}/steps/s1/result"),
    ],
)
def test_paths_are_exactly_these(step_type: str, path: str) -> None:
    assert main_object(RUN_ID, a_step(step_type)) == path


def test_other_objects_lie_in_the_steps_own_folder() -> None:
    charts, heatmap = a_step("CHART_EXPORT"), a_step("HEATMAP")
    assert side_object(RUN_ID, charts, chart_image("ctpl_v1")) == f"charts/{RUN_ID}/s1/ctpl_v1.png"
    assert side_object(RUN_ID, charts, chart_evidence(3)) == f"charts/{RUN_ID}/s1/manifest.attempt-3.json"
    assert side_object(RUN_ID, heatmap, "notes.json") == f"runs/{RUN_ID}/steps/s1/notes.json"
    assert main_object(RUN_ID, heatmap, "heatmap.png") == f"runs/{RUN_ID}/steps/s1/heatmap.png"


def test_evidence_of_a_failure_is_never_the_manifest() -> None:
    manifest = main_object(RUN_ID, a_step("CHART_EXPORT"))
    assert manifest not in {side_object(RUN_ID, a_step("CHART_EXPORT"), chart_evidence(n)) for n in range(20)}


@pytest.mark.parametrize("timeframe", [None, "", "1/M", "..", "1.M", "x" * 129, "1M\n", "`", "__1M__", " 1M"])
@pytest.mark.parametrize("step_type", ["OHLCV_EXPORT", "LLM_REPORT"])
def test_timeframe_that_cannot_be_part_of_a_name_is_refused(step_type: str, timeframe: str | None) -> None:
    with pytest.raises(StepFailed) as failure:
        main_object(RUN_ID, a_step(step_type, timeframe=timeframe))
    assert failure.value.error.code == Code.INVALID_STEP_INPUTS
    assert failure.value.error.message.startswith("steps.s1.timeframe: ")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "x.", "a b", "ü", "a\n", "manifest..json"])
def test_bad_name_is_refused(name: str) -> None:
    with pytest.raises(StepFailed):
        side_object(RUN_ID, a_step("HEATMAP"), name)
    with pytest.raises(StepFailed):
        side_object(RUN_ID, a_step("CHART_EXPORT"), name)


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "a.b", "-a", "x" * 129])
def test_bad_run_id_is_refused(run_id: str) -> None:
    with pytest.raises(StepFailed) as failure:
        main_object(run_id, a_step("HEATMAP"))
    assert failure.value.error.code == Code.FLOW_RUN_INVALID


TYPES = st.sampled_from(["OHLCV_EXPORT", "CHART_EXPORT", "LLM_REPORT", "HEATMAP", "DIGEST"])
NAMES = st.one_of(
    st.sampled_from(["a", "b", "1M", "ohlcv", "steps", "reports", "manifest", "result", "charts:1M:x"]),
    st.text(min_size=1, max_size=4).filter(is_name),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(NAMES, TYPES, NAMES), min_size=2, max_size=6, unique_by=lambda entry: entry[0]))
def test_two_steps_of_a_sound_run_never_share_an_object(steps: list[tuple[str, str, str]]) -> None:
    document = a_run(
        steps={name: {"stepType": kind, "status": "PENDING", "timeframe": frame} for name, kind, frame in steps}
    )
    run = parsed(document)
    if run.defect:
        candles = [frame for _, kind, frame in steps if kind == "OHLCV_EXPORT"]
        assert len(set(candles)) < len(candles), run.defect
        return
    every: list[str] = []
    for step in run.steps.values():
        own = {main_object(RUN_ID, step)}
        own |= {
            side_object(RUN_ID, step, name) for name in ("result", "notes.json", chart_image("a"), chart_evidence(1))
        }
        every += own
    assert len(set(every)) == len(every)


def test_object_belongs_to_its_run_its_step_and_its_inputs() -> None:
    step = a_step("HEATMAP", bins=24)
    about = metadata(step, Artifact.json({}))
    assert belongs_to(about, RUN_ID, step)
    assert not belongs_to(about, "another", step)
    assert not belongs_to(about, RUN_ID, replace(step, step_id="s2"))
    assert not belongs_to(about, RUN_ID, replace(step, inputs={"bins": 25}))
    assert not belongs_to({}, RUN_ID, step)


def test_status_and_attempt_do_not_change_whose_it_is() -> None:
    step = a_step("HEATMAP", bins=24)
    about = metadata(step, Artifact.json({}))
    assert belongs_to(about, RUN_ID, replace(step, attempt=5, status=StepStatus.READY, outputs={"x": 1}))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=5))
def test_order_of_keys_does_not_matter(value: dict[str, object]) -> None:
    turned = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(turned) == canonical_json(MappingProxyType(turned))


@given(JSON_VALUES)
def test_canonical_text_is_compact_and_utf_8(value: object) -> None:
    text = canonical_json(value).decode()
    assert len(text.split("\n")) == 1
    assert json.loads(text) == value


def test_different_values_have_different_texts() -> None:
    values: list[object] = [None, "", 0, False, "0", 0.5, [], {}, [0], {"0": 0}, "null", [[]], {"": None}]
    assert len({canonical_json(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    "odd", ["\ud800", b"bytes", datetime(2025, 12, 24, tzinfo=UTC), {1, 2}, 10**400], ids=lambda odd: type(odd).__name__
)
def test_what_json_does_not_know_still_has_a_text(odd: object) -> None:
    assert canonical_json({"odd": odd})
    assert len(inputs_sha256(a_step("HEATMAP", odd=odd))) == 64


def test_exact_text() -> None:
    assert canonical_json({"b": [1, 2.5], "a": "ü\n"}) == '{"a":"ü\\n","b":[1,2.5]}'.encode()


def test_kinds_of_artifacts() -> None:
    assert Artifact.json({"a": 1}) == Artifact(b'{"a":1}', JSON)
    assert Artifact.png(b"\x89PNG") == Artifact(b"\x89PNG", PNG)


OUTPUTS: Mapping[str, object] = {"pages": 2, "words": "ü", "nested": {"list": [1, None]}}


def test_whoever_finds_the_object_reads_what_its_author_recorded() -> None:
    about = metadata(a_step("HEATMAP"), Artifact.json({}, outputs=OUTPUTS, execution={"model": "m"}))
    assert recorded(about, "outputs") == OUTPUTS
    assert recorded(about, "execution") == {"model": "m"}


def test_metadata_fits_what_cloud_storage_takes() -> None:
    """8 KiB in all, and plain letters: what does not fit is left out rather than the object lost."""
    huge = {"words": "ü" * 50_000}
    about = metadata(a_step("HEATMAP", "s" * 128), Artifact.json({}, outputs=huge, execution=huge))
    assert sum(len(key) + len(value) for key, value in about.items()) < 8192
    assert all(value.isascii() for value in about.values())
    assert recorded(about, "outputs") == {}


def test_step_is_recognised_in_any_alphabet() -> None:
    about = metadata(a_step("HEATMAP", "отчёт"), Artifact.json({}))
    assert belongs_to(about, RUN_ID, a_step("HEATMAP", "отчёт"))


@pytest.mark.parametrize(
    "text", ["", "no json", "[1, 2]", "null", '"text"', "[" * 3000], ids=lambda text: text[:8] or "empty"
)
def test_unreadable_record_is_no_record(text: str) -> None:
    assert recorded({"outputs": text}, "outputs") == {}
    assert recorded({}, "outputs") == {}
