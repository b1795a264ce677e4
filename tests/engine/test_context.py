"""What a step may touch: others' results, objects of its own, and the time that is left."""

import pytest

from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code, StepFailed
from flowcore.engine.context import StepContext
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run
from tests.engine.stage import REPORT_OBJECT, Inputs, Stage, report_ready, unavailable, with_step


def within(stage: Stage, look: object, document: dict[str, object] | None = None) -> object:
    """What the function sees from inside a running step."""
    seen: list[object] = []

    def execute(context: StepContext, inputs: Inputs) -> Artifact:
        assert callable(look)
        seen.append(look(context))
        return Artifact.json({})

    stage.worker(execute=execute).handle(stage.put(document or report_ready()))
    return seen[0] if seen else stage.step().error


def test_results_of_others_are_found_by_step_id() -> None:
    def look(context: StepContext) -> str:
        return context.uri_of(OHLCV, "ohlcvStepId")

    assert within(Stage(), look) == "gs://artifacts/some/object"


@pytest.mark.parametrize(
    ("step_id", "document", "words"),
    [
        ("nowhere", report_ready(), "'nowhere' is not a step of this run"),
        (REPORT, report_ready(), "is RUNNING, its outputs.gcs_uri cannot be used"),
        (CHARTS, with_step(report_ready(), CHARTS, outputs={}), "its outputs.gcs_uri cannot be used"),
    ],
    ids=["unknown", "not done", "no object"],
)
def test_result_that_is_not_there_names_the_input(step_id: str, document: dict[str, object], words: str) -> None:
    def look(context: StepContext) -> object:
        with pytest.raises(StepFailed) as failure:
            context.uri_of(step_id, "llm.ohlcvStepId")
        return failure.value.error

    error = within(Stage(), look, document)
    assert getattr(error, "code", None) == Code.INVALID_STEP_INPUTS
    assert str(getattr(error, "message", "")).startswith(f"steps.{REPORT}.inputs.llm.ohlcvStepId: ")
    assert words in str(getattr(error, "message", ""))


def test_step_knows_where_its_result_will_lie() -> None:
    stage = Stage()
    assert within(stage, lambda context: context.uri) == f"gs://artifacts/{REPORT_OBJECT}"
    assert stage.step().gcs_uri == f"gs://artifacts/{REPORT_OBJECT}"


def test_room_keeps_the_reserve_back() -> None:
    stage = Stage()

    def look(context: StepContext) -> tuple[float, float]:
        before = context.room()
        stage.after(100)
        return before, context.room()

    assert within(stage, look) == (660.0, 560.0)


def test_room_is_never_below_zero() -> None:
    stage = Stage()

    def look(context: StepContext) -> float:
        stage.after(5000)
        return context.room()

    assert within(stage, look) == 0.0


def test_scope_is_that_of_the_run() -> None:
    assert within(Stage(), lambda context: context.scope) == {"symbol": "BTCUSDT"}


def test_reading_is_tried_again_after_silence() -> None:
    stage = Stage()

    def look(context: StepContext) -> bytes:
        uri = context.keep("a.json", Artifact.json([1]))
        stage.artifacts.wire.break_next("read", unavailable(Code.GCS_READ_FAILED), times=2)
        return context.read(uri)

    assert within(stage, look) == b"[1]"
    assert stage.artifacts.wire.calls["read"] == 3


def test_object_that_does_not_exist_fails_the_step_at_once() -> None:
    stage = Stage()
    error = within(stage, lambda context: context.read("gs://artifacts/nowhere"))
    assert getattr(error, "code", None) == Code.INVALID_STEP_INPUTS
    assert stage.artifacts.wire.calls["read"] == 1


def test_what_an_earlier_attempt_kept_is_found_by_its_name() -> None:
    stage = Stage()

    def look(context: StepContext) -> list[object]:
        before = context.kept("a.json")
        uri = context.keep("a.json", Artifact.json([1]))
        found = context.kept("a.json")
        return [before, uri, found and found.uri]

    uri = f"gs://artifacts/runs/{RUN_ID}/steps/{REPORT}/a.json"
    assert within(stage, look) == [None, uri, uri]


def test_what_others_kept_under_our_name_is_not_ours() -> None:
    stage = Stage()
    stage.artifacts.create(f"runs/{RUN_ID}/steps/{REPORT}/a.json", b"x", "text/plain", {"run": "another"})
    error = within(stage, lambda context: context.kept("a.json"))
    assert getattr(error, "code", None) == Code.GCS_WRITE_FAILED
    assert getattr(error, "details", None) is not None


@pytest.mark.parametrize("name", ["../up", "a/b", "", "..", ".json", "a.", "a b", "ü", "a\n"])
def test_bad_name_is_refused(name: str) -> None:
    stage = Stage()
    error = within(stage, lambda context: context.keep(name, Artifact.json([])))
    assert getattr(error, "code", None) == Code.INVALID_STEP_INPUTS
    assert not stage.artifacts.objects


def test_step_cannot_keep_something_under_the_name_of_its_result() -> None:
    """The result's existence means that the step is done; a note of that name would be taken for it."""
    stage = Stage()
    document = a_run(steps={"a": {"stepType": "HEATMAP", "status": "READY"}})

    def execute(context: StepContext, inputs: Inputs) -> Artifact:
        context.keep("result", Artifact.json("only a note"))
        return Artifact.json("the result")

    stage.worker("HEATMAP", execute).handle(stage.put(document))
    assert b'"only a note"' not in [content for _, content in stage.artifacts.objects.values()]


def test_step_without_a_timeframe_says_so() -> None:
    stage = Stage()
    stage.worker().handle(stage.put(with_step(report_ready(), REPORT, timeframe=None)))
    error = stage.step().error
    assert error is not None
    assert error.code == Code.INVALID_STEP_INPUTS
    assert error.message.startswith(f"steps.{REPORT}.timeframe")
    assert stage.provider.calls == 0
