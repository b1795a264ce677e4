"""What the model may answer, and what becomes of it: used, mended once, or given up; never shown to anybody."""

import json
from typing import Any

import pytest

from emulator.faults import SHAPES, shape, status
from emulator.gemini.prompt import Prompt
from flowcore.testing.builders import RUN_ID
from tests.functions.llm_report import scene
from tests.functions.llm_report.scene import failed_with
from tests.functions.system import System

CUT = '{"summary":{"markdown":"ok"},"details":{'
PARROT = "the parrot in the model"


@pytest.mark.acceptance("E20")
def test_an_answer_that_was_cut_off_is_mended_by_a_second_call(system: System) -> None:
    scene.set_up(system)
    script = system.platform.gemini.script
    script.say(CUT + "." * len(CUT))
    script.say(scene.GOOD, when="<repair>")
    cut = system.faults.add(service="gemini", action=shape("max_tokens"), times=1)
    step = scene.outcome(system, scene.a_report_run())
    execution = step["outputs"]["execution"]
    assert (step["status"], cut.fired, scene.model_calls(system)) == ("SUCCEEDED", 1, 2)
    assert execution["attempts"] == execution["llm"]["attempts"] == {"total": 2}
    assert execution["llm"]["finishReason"] == "STOP"
    assert execution["llm"]["repaired"]["kind"] == "json_parse"
    assert execution["llm"]["repaired"]["finishReason"] == "MAX_TOKENS"
    assert execution["llm"]["repaired"]["usageMetadata"]["totalTokenCount"] > 0
    assert scene.written(system)["output"] == scene.GOOD


@pytest.mark.acceptance("E20")
def test_the_second_question_says_what_was_wrong_and_shows_nothing_of_the_answer(system: System) -> None:
    scene.set_up(system)
    asked: list[Prompt] = []

    def mend(prompt: Prompt) -> str:
        asked.append(prompt)
        return json.dumps(scene.GOOD)

    wrong = {"summary": {"markdown": 7}, "details": [PARROT] * 12}
    system.platform.gemini.script.say(wrong)
    system.platform.gemini.script.say(mend, when="<repair>")
    assert scene.outcome(system, scene.a_report_run())["status"] == "SUCCEEDED"
    question, repair = asked[0].text.split("<repair>")
    assert question.startswith(scene.SECRET_PROMPT)
    assert "it did not fit the schema" in repair
    assert "- path=summary.markdown expected=string\n- path=details expected=object" in repair
    assert '"required":["summary","details"]' in repair
    assert PARROT not in asked[0].text
    assert len(asked[0].images) == 2


@pytest.mark.acceptance("E21")
def test_an_answer_that_stays_broken_ends_the_step_and_is_seen_by_nobody(system: System) -> None:
    scene.set_up(system)
    system.platform.gemini.script.say({"summary": {"markdown": PARROT * 9}, "details": {}}, times=None)
    system.faults.add(service="gemini", action=shape("max_tokens"))
    step = scene.outcome(system, scene.a_report_run(attempts=3))
    assert failed_with(step, "INVALID_STRUCTURED_OUTPUT", "json_parse")
    assert step["error"]["message"] == "structured_output_invalid kind=json_parse finishReason=MAX_TOKENS"
    assert step["error"]["details"] == {"reason": "json_parse", "calls": 2, "repair": "no_better"}
    assert step["outputs"]["execution"]["llm"]["attempts"] == {"total": 2}
    assert scene.model_calls(system) == 2
    assert "parrot" not in json.dumps([system.run(RUN_ID), system.logs], default=str)
    assert scene.REPORT_OBJECT not in system.objects()


@pytest.mark.acceptance("E22", "E23")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"summary": {}, "details": {}}, "kind=schema_validation missing=summary.markdown finishReason=STOP"),
        (
            {"summary": {"markdown": 123}, "details": {}},
            "kind=schema_validation path=summary.markdown expected=string finishReason=STOP",
        ),
        ("NaN", "kind=json_parse finishReason=STOP"),
        (" \n", "kind=missing_text finishReason=STOP"),
    ],
)
@pytest.mark.parametrize("schema", [scene.PLAIN, scene.shipped()], ids=["plain", "shipped"])
def test_the_message_names_the_first_thing_that_is_wrong(
    system: System, schema: dict[str, Any], answer: object, message: str
) -> None:
    scene.set_up(system, schema)
    system.platform.gemini.script.say(answer, times=None)
    step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, "INVALID_STRUCTURED_OUTPUT")
    assert step["error"]["message"] == f"structured_output_invalid {message}"
    assert scene.model_calls(system) == 2


@pytest.mark.acceptance("E25")
@pytest.mark.parametrize(("name", "stopped"), [("safety", "the answer"), ("blocked_prompt", "the prompt")])
def test_what_a_filter_stops_is_not_asked_again(system: System, name: str, stopped: str) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="gemini", action=shape(name))
    step = scene.outcome(system, scene.a_report_run(attempts=3))
    assert failed_with(step, "LLM_SAFETY_BLOCK", "SAFETY")
    assert stopped in step["error"]["message"]
    assert (scene.model_calls(system), fault.fired) == (1, 1)
    assert step["outputs"]["execution"]["llm"]["usageMetadata"]["promptTokenCount"] > 0


MENDED = sorted(SHAPES["gemini"] - {"safety", "blocked_prompt", "non_json"})


@pytest.mark.parametrize("name", MENDED)
def test_a_spoiled_answer_is_mended(system: System, name: str) -> None:
    scene.set_up(system, scene.shipped())
    fault = system.faults.add(service="gemini", action=shape(name), times=1)
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], fault.fired, scene.model_calls(system)) == ("SUCCEEDED", 1, 2), step
    assert step["outputs"]["execution"]["attempts"] == {"total": 2}


@pytest.mark.parametrize("name", MENDED)
def test_an_answer_that_is_spoiled_twice_ends_the_step(system: System, name: str) -> None:
    scene.set_up(system, scene.shipped())
    fault = system.faults.add(service="gemini", action=shape(name))
    step = scene.outcome(system, scene.a_report_run(attempts=3))
    assert failed_with(step, "INVALID_STRUCTURED_OUTPUT")
    assert (fault.fired, scene.model_calls(system)) == (2, 2)


@pytest.mark.parametrize(
    ("trouble", "code", "repair"),
    [
        (status(503), "INVALID_STRUCTURED_OUTPUT", "GEMINI_REQUEST_FAILED"),
        (status(429, retry_after=3), "INVALID_STRUCTURED_OUTPUT", "RATE_LIMITED"),
        (shape("safety"), "LLM_SAFETY_BLOCK", None),
    ],
)
def test_a_repair_that_fails_leaves_the_answer_what_it_was(
    system: System, trouble: Any, code: str, repair: str | None
) -> None:
    scene.set_up(system)
    system.platform.gemini.script.say("{")
    system.faults.add(service="gemini", action=trouble, skip=1)
    step = scene.outcome(system, scene.a_report_run(attempts=3))
    assert failed_with(step, code)
    assert step["error"]["details"].get("repair") == repair
    assert scene.model_calls(system) == 2
