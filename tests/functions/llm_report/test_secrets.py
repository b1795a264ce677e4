"""Prompts, answers and keys are for the model and for the report; logs and documents get neither."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from flowcore.testing.builders import RUN_ID
from tests.functions.llm_report import scene
from tests.functions.system import System

FORBIDDEN = {
    *("apikey", "token", "secret", "authorization", "credentials", "systeminstruction", "userprompt", "prompttext"),
    *("candidatetext", "rawoutput", "outputtext"),
}
SAID = "The walrus has left the harbour."


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(part)


@pytest.mark.acceptance("E38")
@pytest.mark.parametrize(
    "answers",
    [
        [{"summary": {"markdown": SAID}, "details": {}}],
        [SAID, {"summary": {"markdown": SAID}, "details": {}}],
        [SAID, {"summary": {SAID: SAID}, "details": SAID}],
    ],
    ids=["good", "mended", "broken"],
)
def test_nothing_of_the_conversation_is_logged_or_recorded(system: System, answers: list[object]) -> None:
    scene.set_up(system)
    for answer in answers:
        system.platform.gemini.script.say(answer)
    step = scene.outcome(system, scene.a_report_run())
    assert step["status"] in ("SUCCEEDED", "FAILED")
    lines = [line for line in system.logs if line.get("step_type") == "LLM_REPORT"]
    assert "llm_request_finished" in {line["event"] for line in lines}
    assert not {key for line in lines for key in keys_of(line) if key.lower().replace("_", "") in FORBIDDEN}
    seen = json.dumps([lines, system.run(RUN_ID)], default=str)
    for secret in (scene.SECRET_PROMPT, scene.SECRET_SYSTEM, SAID, system.platform.exports["GEMINI_API_KEY"]):
        assert secret not in seen


@pytest.mark.acceptance("E39")
def test_a_line_too_long_for_the_log_costs_nothing_but_its_length(system: System) -> None:
    scene.set_up(system)
    given = scene.inputs(scene.with_schema(scene.SCHEMA, schemaSha256="é" * 60_000))
    assert scene.outcome(system, scene.a_report_run(given))["status"] == "SUCCEEDED"
    [line] = [line for line in system.logs if line["event"] == "schema_hash_differs"]
    assert len(json.dumps(line)) < 64_000
    assert line["stated"].endswith("…")
