"""Objects: looked for before anything is paid, created once, recognised when somebody else was faster."""

from collections.abc import Iterator

import pytest

from flowcore.domain.artifacts import Artifact, inputs_sha256, sha256
from flowcore.domain.errors import Code
from flowcore.domain.model import StepStatus
from flowcore.engine.context import StepContext
from flowcore.engine.results import WHOLE_UP_TO
from flowcore.testing.builders import REPORT, RUN_ID
from tests.engine.stage import REPORT_OBJECT, Denied, Inputs, Stage, metadata, report_ready, unavailable

THEIRS = Artifact.json({"text": "somebody else's answer"}, outputs={"pages": 2}, execution={"model": "m-0"})


def store(stage: Stage, **about: str) -> None:
    """Another worker's object under the report's name."""
    said = {**metadata(stage.step(), THEIRS), **about}
    stage.artifacts._create(REPORT_OBJECT, THEIRS.content, THEIRS.content_type, said)


def execution(stage: Stage) -> dict[str, object]:
    found = stage.step().outputs["execution"]
    assert isinstance(found, dict)
    return found


def test_object_that_is_there_is_the_result() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    store(stage)
    stage.worker().handle(event)
    assert stage.provider.calls == 0
    assert stage.calls() == {"update": 2, "find": 1}
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.step().gcs_uri == f"gs://artifacts/{REPORT_OBJECT}"
    assert stage.step().outputs["pages"] == 2
    assert (execution(stage)["reused"], execution(stage)["model"]) == (True, "m-0")


@pytest.mark.parametrize(
    "about",
    [{"step": "another_step"}, {"run": "another-run"}, {"inputs-sha256": "0" * 64}, {"step": "", "run": ""}],
    ids=["step", "run", "inputs", "nobody"],
)
def test_somebody_elses_object_under_our_name_is_never_reused(about: dict[str, str]) -> None:
    stage = Stage()
    event = stage.put(report_ready())
    store(stage, **about)
    stage.worker().handle(event)
    step = stage.step()
    assert step.status is StepStatus.FAILED
    assert step.error is not None
    assert (step.error.code, step.error.retryable) == (Code.GCS_WRITE_FAILED, False)
    assert step.error.details is not None
    assert step.error.details["reason"] == "object_taken"
    assert stage.provider.calls == 0


@pytest.mark.parametrize("about", [{}, {"step": "another_step"}], ids=["ours", "another's"])
def test_create_that_finds_an_object_reads_whose_it_is(about: dict[str, str]) -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: store(stage, **about)
    stage.worker().handle(event)
    if about:
        assert stage.step().status is StepStatus.FAILED
    else:
        assert stage.step().status is StepStatus.SUCCEEDED
        assert execution(stage)["model"] == "m-0"  # theirs is the result, though our text differs
        assert execution(stage)["reused"] is True


def test_object_made_from_other_inputs_is_not_ours() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    store(stage, **{"inputs-sha256": inputs_sha256(stage.step()).upper()})
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.FAILED


def test_silent_storage_is_tried_again_without_paying_again() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    fault = stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED), times=2)
    stage.worker().handle(event)
    assert fault.fired == 2
    assert stage.provider.calls == 1
    assert stage.step().status is StepStatus.SUCCEEDED


def test_storage_that_stays_silent_fails_the_step() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED), times=1000)
    stage.worker().handle(event)
    step = stage.step()
    assert step.status is StepStatus.FAILED
    assert step.error is not None
    assert (step.error.code, step.error.retryable) == (Code.GCS_WRITE_FAILED, True)
    assert stage.provider.calls == 1
    assert stage.artifacts.wire.calls["create"] == 5


def test_object_whose_reply_was_lost_is_our_own() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    fault = stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED), after_effect=True)
    stage.worker().handle(event)
    assert fault.fired == 1
    assert stage.step().status is StepStatus.SUCCEEDED
    assert "reused" not in execution(stage)
    assert stage.provider.calls == 1


def test_look_that_gets_no_answer_pays_for_nothing() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.artifacts.wire.break_next("find", unavailable(Code.GCS_READ_FAILED), times=1000)
    stage.worker().handle(event)
    step = stage.step()
    assert step.error is not None
    assert (step.error.code, step.error.retryable) == (Code.GCS_READ_FAILED, True)
    assert stage.provider.calls == 0


def test_refusal_by_the_storage_is_not_repeated() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.artifacts.wire.break_next("find", Denied())
    stage.worker().handle(event)
    assert stage.step().error is not None
    assert stage.artifacts.wire.calls["find"] == 1
    assert stage.provider.calls == 0


def test_storage_gets_only_the_time_that_recording_can_spare() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: stage.after(stage.budget.invocation - 50)
    stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED), times=1000)
    stage.worker().handle(event)
    assert stage.artifacts.wire.calls["create"] == 1  # half of the reserve is gone; the rest is for the last write
    assert stage.step().status is StepStatus.FAILED


def test_artifact_vanishing_between_create_and_look_is_a_failure() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.provider.meanwhile = lambda: store(stage)
    stage.artifacts.wire.before_next("find", lambda: None)
    stage.artifacts.wire.before_next("find", stage.artifacts.objects.clear)
    stage.worker().handle(event)
    assert stage.step().error is not None
    assert stage.step().status is StepStatus.FAILED


def test_object_says_whose_it_is_and_what_it_holds() -> None:
    stage = Stage()
    stage.worker().handle(stage.put(report_ready()))
    stored, content = stage.artifacts.objects[REPORT_OBJECT]
    assert content == b'{"text":"answer 1"}'
    assert stored.metadata == {
        "run": RUN_ID,
        "step": REPORT,
        "sha256": "f153dc10e27370bdfeaf3e07a2de2fc83f8ee9276f168f6f9628631b6b77420b",
        "inputs-sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "outputs": "{}",
        "execution": '{"model":"m-1"}',
    }


def test_unreadable_metadata_still_finishes_the_step() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    store(stage, outputs="not json", execution="[1, 2]")
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.step().gcs_uri == f"gs://artifacts/{REPORT_OBJECT}"


def test_step_may_read_others_and_keep_objects_of_its_own() -> None:
    stage = Stage()

    def execute(context: StepContext, inputs: Inputs) -> Artifact:
        kept = context.keep("notes.json", Artifact.json({"n": 1}))
        assert context.keep("notes.json", Artifact.json({"n": 1})) == kept  # a retry finds what is there
        return Artifact.json({"kept": context.read(kept).decode()})

    stage.worker(execute=execute).handle(stage.put(report_ready()))
    assert stage.step().status is StepStatus.SUCCEEDED
    assert f"runs/{RUN_ID}/steps/{REPORT}/notes.json" in stage.artifacts.objects


def in_pieces(size: int, outputs: dict[str, object]) -> Artifact:
    """An artifact of that many bytes; it learns its outputs only at its end."""

    def pieces() -> Iterator[bytes]:
        for _ in range(size // 1024):
            yield b"x" * 1024
        outputs["count"] = size

    return Artifact(pieces(), "text/plain", outputs)


def test_small_content_in_pieces_is_stored_in_one_call() -> None:
    stage = Stage()
    fault = stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED))
    stage.provider.answer = in_pieces(4096, {})
    stage.worker().handle(stage.put(report_ready()))
    stored, content = stage.artifacts.objects[REPORT_OBJECT]
    assert fault.fired == 1
    assert stage.artifacts.wire.calls == {"find": 1, "create": 2}
    assert (content, stored.metadata["sha256"]) == (b"x" * 4096, sha256(b"x" * 4096))
    assert stage.step().outputs["count"] == 4096


def test_large_content_is_stored_as_it_comes_and_described_at_its_end() -> None:
    stage = Stage()
    stage.provider.answer = in_pieces(WHOLE_UP_TO + 2048, {})
    stage.worker().handle(stage.put(report_ready()))
    stored, content = stage.artifacts.objects[REPORT_OBJECT]
    assert stage.artifacts.wire.calls == {"find": 1, "create": 1, "annotate": 1}
    assert len(content) == WHOLE_UP_TO + 2048
    assert stored.metadata["sha256"] == sha256(content)
    assert stored.metadata["step"] == REPORT
    assert stage.step().outputs["count"] == WHOLE_UP_TO + 2048


def test_large_content_that_breaks_off_is_not_sent_again() -> None:
    stage = Stage()
    fault = stage.artifacts.wire.break_next("create", unavailable(Code.GCS_WRITE_FAILED), times=5)
    stage.provider.answer = in_pieces(WHOLE_UP_TO + 2048, {})
    stage.worker().handle(stage.put(report_ready()))
    assert fault.fired == 1
    error = stage.step().error
    assert error is not None
    assert (error.code, error.retryable) == (Code.GCS_WRITE_FAILED, True)


def test_large_object_without_its_description_is_still_the_result() -> None:
    stage = Stage()
    stage.artifacts.wire.break_next("annotate", unavailable(Code.GCS_WRITE_FAILED), times=5)
    stage.provider.answer = in_pieces(WHOLE_UP_TO + 2048, {})
    stage.worker().handle(stage.put(report_ready()))
    assert stage.step().status is StepStatus.FAILED
    stage.worker().handle(stage.put(report_ready()))
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.provider.calls == 1
    assert execution(stage)["reused"] is True
