"""Definitions become runs, and say what is wrong with them, and where."""

from collections.abc import Mapping
from typing import Any

import pytest

from flowcore.contracts.flows import instantiate
from flowcore.domain.errors import Code, StepFailed
from flowcore.testing.builders import parsed
from flowcore.testing.world import T0

DEFINITION: dict[str, Any] = {
    "flowKey": "report_v1",
    "parameters": {
        "symbol": {"pattern": "[A-Z0-9]+", "description": "what is traded"},
        "timeframes": {"default": ["1M", "1w"]},
        "images": {"default": 2},
    },
    "steps": {
        "ohlcv_${timeframe}": {
            "stepType": "OHLCV_EXPORT",
            "timeframe": "${timeframe}",
            "inputs": {"symbol": "${symbol}", "note": "bars of ${symbol}", "minImages": "${images}"},
        },
        "summary": {
            "stepType": "LLM_REPORT",
            "timeframe": "${timeframes.0}",
            "dependsOn": ["ohlcv_${timeframe}"],
            "inputs": {"previous": ["ohlcv_${timeframe}", "of ${symbol}"]},
            "retry": {"maxAttempts": 2},
        },
    },
}


def run(definition: Mapping[str, object] = DEFINITION, /, **parameters: object) -> dict[str, Any]:
    given = {"symbol": "BTCUSDT", **parameters}
    return instantiate(definition, given, run_id="r-1", now=T0, trigger={"type": "USER", "source": "a test"})


def with_step(name: str, **fields: object) -> dict[str, Any]:
    return {**DEFINITION, "steps": {**DEFINITION["steps"], name: {"stepType": "LLM_REPORT", **fields}}}


def test_a_run_is_complete_and_waits_to_be_planned() -> None:
    made = run()
    assert (made["status"], made["flowKey"], made["runId"]) == ("PENDING", "report_v1", "r-1")
    assert made["scope"] == {"symbol": "BTCUSDT", "timeframes": ["1M", "1w"], "images": 2}
    assert parsed(made, "r-1").defect is None
    assert {step["status"] for step in made["steps"].values()} == {"PENDING"}


def test_a_step_is_made_for_each_timeframe_and_a_join_waits_for_all() -> None:
    steps = run(timeframes=["1M", "1w", "1d"])["steps"]
    assert list(steps) == ["ohlcv_1M", "ohlcv_1w", "ohlcv_1d", "summary"]
    assert [steps[name]["timeframe"] for name in steps] == ["1M", "1w", "1d", "1M"]
    assert steps["summary"]["dependsOn"] == ["ohlcv_1M", "ohlcv_1w", "ohlcv_1d"]
    assert steps["summary"]["inputs"]["previous"] == ["ohlcv_1M", "ohlcv_1w", "ohlcv_1d", "of BTCUSDT"]


def test_a_placeholder_alone_keeps_its_type_and_one_in_text_becomes_text() -> None:
    inputs = run()["steps"]["ohlcv_1M"]["inputs"]
    assert inputs == {"symbol": "BTCUSDT", "note": "bars of BTCUSDT", "minImages": 2}


def test_a_run_says_which_definition_it_was_made_from() -> None:
    assert run()["definitionSha256"] != run({**DEFINITION, "description": "another"})["definitionSha256"]


def test_values_are_not_looked_into_for_placeholders() -> None:
    definition = {**DEFINITION, "parameters": {**DEFINITION["parameters"], "symbol": {}}}
    assert run(definition, symbol="${images}")["steps"]["ohlcv_1M"]["inputs"]["symbol"] == "${images}"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"simbol": "A"}, "parameters.simbol: the flow has no such parameter; did you mean 'symbol'?"),
        ({"symbol": "btc/usdt"}, "parameters.symbol: 'btc/usdt' does not match [A-Z0-9]+"),
        ({"symbol": 3}, "parameters.symbol: a int does not match [A-Z0-9]+"),
        ({"timeframes": "1M"}, "parameters.timeframes: must be a list, as its default is"),
        ({"images": 2**70}, "parameters.images: Firestore cannot hold this value"),
        ({"images": True}, "parameters.images: must be a int, as its default is"),
    ],
)
def test_a_wrong_parameter_is_the_callers_mistake(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(StepFailed) as refused:
        run(DEFINITION, **parameters)
    assert (refused.value.error.code, refused.value.error.message) == (Code.INVALID_REQUEST, said)


def test_a_parameter_without_a_default_is_demanded() -> None:
    with pytest.raises(StepFailed, match=r"parameters\.symbol: is missing, and has no default"):
        instantiate(DEFINITION, {}, run_id="r-1", now=T0, trigger={})


@pytest.mark.parametrize(
    ("definition", "path", "said"),
    [
        ({**DEFINITION, "steps": {}}, "steps", "at least one step"),
        ({**DEFINITION, "steps": {"a": "b"}}, "steps.a", "must be a map"),
        ({**DEFINITION, "parameters": ["symbol"]}, "parameters", "must be a map"),
        ({**DEFINITION, "parameters": {"symbol": "BTC"}}, "parameters.symbol", "must be a map"),
        ({**DEFINITION, "parameters": {"symbol": {"pattern": "["}}}, "parameters.symbol.pattern", "regular expression"),
        (with_step("x", inputs={"a": "${symbl}"}), "steps.x.inputs.a", "did you mean 'symbol'?"),
        (with_step("x", inputs={"a": ["${timeframes.7}"]}), "steps.x.inputs", "no '7' in it"),
        (with_step("x", timeframe="${timeframe}"), "steps.x.timeframe", "no parameter of the flow"),
        (with_step("ohlcv_1M"), "steps.ohlcv_1M", "two steps get this id"),
        (with_step("x", dependsOn=["nobody"]), "steps.x.dependsOn", "nobody"),
        (with_step("a.b"), "steps", "a.b"),
    ],
)
def test_a_wrong_definition_says_where(definition: dict[str, object], path: str, said: str) -> None:
    with pytest.raises(StepFailed) as refused:
        run(definition)
    error = refused.value.error
    assert error.code == Code.FLOW_DEFINITION_INVALID
    assert error.details is not None
    assert str(error.details["path"]).startswith(path)
    assert said in error.message


@pytest.mark.parametrize("timeframes", [[], ["1M", "1M"]])
def test_steps_for_each_timeframe_need_timeframes_that_differ(timeframes: list[str]) -> None:
    with pytest.raises(StepFailed, match="timeframe"):
        run(timeframes=timeframes)
