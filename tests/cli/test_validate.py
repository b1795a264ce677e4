"""`flow validate`: everything that is wrong, at once, with line and column."""

import json
from pathlib import Path
from typing import Any

import pytest

from flowcore.cli.checking import Finding, check
from flowcore.cli.positions import Position, places
from tests.cli.typing_it import typed
from tests.vectors.cases import Vector, all_vectors

SPEC = Path(__file__).parents[2] / "spec"
SHIPPED = SPEC / "flows" / "market_report_v1.json"
EACH = "${timeframe}"

FLOW: dict[str, Any] = {
    "flowKey": "tea_v1",
    "parameters": {"symbol": {"default": "BTCUSDT"}, "timeframes": {"default": ["1M", "1w"]}},
    "steps": {
        "boil_${timeframe}": {"stepType": "BOIL", "inputs": {"what": "${symbol}"}},
        "pour": {"stepType": "POUR", "dependsOn": ["boil_${timeframe}"]},
    },
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The flow, with something in another way; None takes it away."""
    flow: dict[str, Any] = json.loads(json.dumps(FLOW))
    *parents, name = path.split("/")
    inner = flow
    for parent in parents:
        inner = inner[parent]
    inner[name] = value
    if value is None:
        del inner[name]
    return flow


def findings(document: dict[str, Any]) -> list[Finding]:
    return check(json.dumps(document, indent=1), document)


def errors(document: dict[str, Any]) -> list[str]:
    return [f"{each.path}: {each.message}" for each in findings(document) if each.severity == "error"]


def test_what_ships_is_sound(folder: Path) -> None:
    said = typed("validate", str(SHIPPED))
    assert (said.code, said.err) == (0, "")
    assert "a sound flow definition" in said.out


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("steps", None, ": 'steps' is missing"),
        ("steps", [], "steps: must be a map"),
        ("steps", {}, "steps: must not be empty"),
        ("flowKey", "Tea", "flowKey: 'Tea' does not match ^[a-z][a-z0-9_]{0,99}$"),
        ("steps/pour/stepType", None, "steps.pour: 'stepType' is missing"),
        ("steps/pour/dependsOn", "boil", "steps.pour.dependsOn: must be a list"),
        ("steps/pour/dependOn", [], "steps.pour.dependOn: a step has no such field; did you mean 'dependsOn'?"),
        ("step", {}, "step: a flow definition has no such field; did you mean 'steps'?"),
        (
            "parameters/symbol/patern",
            "[A-Z]+",
            "parameters.symbol.patern: a parameter has no such field; did you mean 'pattern'?",
        ),
        (
            "steps/pour/dependsOn",
            ["boilt_${timeframe}"],
            f"steps.pour.dependsOn[0]: 'boilt_{EACH}' is not a step of this flow; did you mean 'boil_{EACH}'?",
        ),
        (
            "steps/boil_${timeframe}/inputs/what",
            "${symbl}",
            "steps.boil_${timeframe}.inputs.what: ${symbl} is no parameter of the flow; did you mean 'symbol'?",
        ),
        (
            "steps/boil_${timeframe}/dependsOn",
            ["boil_${timeframe}"],
            "steps.boil_${timeframe}.dependsOn: goes in a circle: boil_1M → boil_1M",
        ),
        (
            "steps/charts",
            {"stepType": "CHART_EXPORT", "timeframe": "1M", "inputs": {"minImages": 0}},
            "steps.charts.inputs: 'requests' or 'chartTemplateId' is missing",
        ),
        (
            "steps/charts",
            {"stepType": "CHART_EXPORT", "timeframe": "1M", "inputs": {"minImages": -1, "requests": []}},
            "steps.charts.inputs.minImages: must be 0 at least",
        ),
    ],
)
def test_a_mistake_in_a_definition_is_told_with_its_path(path: str, value: object, error: str) -> None:
    assert not errors(FLOW)
    assert error in errors(changed(path, value))


CHARTS = "charts_${timeframe}_default_set_v1"
REVIEW = "llm_report_${timeframe}_review_v1"
OHLCV = "ohlcv_${timeframe}_bigquery_all_v1"


def shipped(step: str, **changes: object) -> dict[str, Any]:
    """The shipped flow with other inputs of one step; None takes an input away."""
    flow: dict[str, Any] = json.loads(SHIPPED.read_text("utf-8"))
    inputs = {**flow["steps"][step]["inputs"], **changes}
    flow["steps"][step]["inputs"] = {name: value for name, value in inputs.items() if value is not None}
    return flow


@pytest.mark.parametrize(
    ("flow", "path", "error"),
    [
        (
            shipped(OHLCV, exportMode=None, exportMod="all"),
            f"steps.{OHLCV}.inputs.exportMod",
            "there is no such field; did you mean 'exportMode'?",
        ),
        (
            shipped(CHARTS, requests=[{"chartTemplateID": "x", "chartTemplateId": "y"}]),
            f"steps.{CHARTS}.inputs.requests[0].chartTemplateID",
            "there is no such field; did you mean 'chartTemplateId'?",
        ),
        (
            shipped(REVIEW, ohlcvStepId="ohlc_${timeframe}_bigquery_all_v1"),
            f"steps.{REVIEW}.inputs.ohlcvStepId",
            "'ohlc_1M_bigquery_all_v1' is not a step of this flow; did you mean 'ohlcv_1M_bigquery_all_v1'?",
        ),
        (
            shipped(REVIEW, previousReportStepIds=["nobody"]),
            f"steps.{REVIEW}.inputs.previousReportStepIds",
            "'nobody' is not a step of this flow",
        ),
    ],
    ids=["a field", "a field further down", "a step", "a step of a list"],
)
def test_a_name_that_is_nearly_right_is_found_before_somebody_pays(flow: dict[str, Any], path: str, error: str) -> None:
    assert errors(flow) == [f"{path}: {error}"]


def test_a_step_that_is_read_but_not_waited_for_is_remarked_upon() -> None:
    flow = shipped(REVIEW)
    flow["steps"][REVIEW]["dependsOn"].remove(CHARTS)
    (remark,) = findings(flow)
    assert (remark.severity, remark.path) == ("warning", f"steps.{REVIEW}.inputs.chartsManifestStepId")
    assert "is not in dependsOn" in remark.message


def test_inputs_that_only_the_caller_knows_are_not_judged() -> None:
    flow = shipped(OHLCV, exportMode="${mode}")
    flow["parameters"]["mode"] = {"description": "no default"}
    assert findings(flow) == []
    flow["parameters"]["mode"]["default"] = "everything"
    assert errors(flow) == [f"steps.{OHLCV}.inputs.exportMode: must be one of all, range"]


def test_a_step_type_of_ones_own_is_only_remarked_upon() -> None:
    assert {each.severity for each in findings(FLOW)} == {"warning"}
    slip = findings(changed("steps/pour/stepType", "CHARTS_EXPORT"))
    assert any("did you mean 'CHART_EXPORT'?" in each.message for each in slip)


def test_several_mistakes_are_told_in_the_order_of_the_file() -> None:
    flow = changed("steps/pour/optionl", True)
    flow["steps"]["boil_${timeframe}"]["retries"] = {}
    told = [each for each in findings(flow) if "field" in each.message]
    assert [each.path for each in told] == ["steps.boil_${timeframe}.retries", "steps.pour.optionl"]
    assert told[0].position.line < told[1].position.line


def test_a_name_that_is_there_twice_is_told_at_the_second() -> None:
    text = '{"steps": {"a": {"stepType": "X"},\n  "a": {"stepType": "Y"}}}'
    (twice,) = [each for each in check(text, json.loads(text)) if "twice" in each.message]
    assert (twice.path, twice.position) == ("steps.a", Position(2, 3))


@pytest.mark.parametrize("vector", [each for each in all_vectors() if each.document], ids=lambda vector: vector.name)
def test_run_documents_are_judged_as_the_kernel_judges_them(vector: Vector) -> None:
    text = (SPEC / "vectors" / vector.name / "run.json").read_text("utf-8")
    document = json.loads(text)
    # A file has no document id to differ from; inputs are the workers' to judge; of `wakeAt` the kernel is lenient.
    told = [each for each in check(text, document) if ".inputs" not in each.path and each.path != "wakeAt"]
    wrong = [each.path for each in told if each.severity == "error"]
    defect = vector.run.defect
    assert bool(wrong) == bool(defect and defect.path != "runId"), (wrong, defect)


def test_positions_are_those_of_an_editor() -> None:
    text = '{\n  "a": [1, {"b": "x\\"y, {z"}],\n\t"c": null, "d": {}\n}'
    found = places(text).by_path
    assert found == {
        "": Position(1, 1),
        "a": Position(2, 3),
        "a[0]": Position(2, 9),
        "a[1]": Position(2, 12),
        "a[1].b": Position(2, 13),
        "c": Position(3, 2),
        "d": Position(3, 13),
    }


def test_what_is_not_there_is_shown_at_what_should_hold_it() -> None:
    there = places('{"steps":\n {"a": {},\n "ab": {}}}')
    assert there.of("steps.a.dependsOn[0]") == Position(2, 3)
    assert there.of("steps.ab.stepType") == Position(3, 2)
    assert there.of("parameters") == Position(1, 1)


def test_every_value_of_any_document_is_found() -> None:
    document = json.loads(SHIPPED.read_text("utf-8"))
    found = places(SHIPPED.read_text("utf-8")).by_path
    lines = SHIPPED.read_text("utf-8").split("\n")

    def walk(value: Any, path: str) -> None:
        """A member stands where its name does, an item where its text does."""
        members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, item in members:
            inside = f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}".lstrip(".")
            at = found[inside]
            shown = json.dumps(item if isinstance(name, int) else name, ensure_ascii=False)
            assert lines[at.line - 1][at.column - 1 :].startswith(shown[:10] if isinstance(item, str) else shown[:1])
            walk(item, inside)

    walk(document, "")
    assert len(found) > 70


def test_programs_get_it_as_data(folder: Path) -> None:
    Path("flow.json").write_text(json.dumps(changed("steps/pour/dependsOn", ["x"]), indent=2))
    said = typed("validate", "flow.json", "--json")
    assert said.code == 1
    assert said.data["valid"] is False
    (error,) = [each for each in said.data["findings"] if each["severity"] == "error"]
    assert (error["path"], error["line"]) == ("steps.pour.dependsOn[0]", 24)
