"""What is said about an answer: enough to mend it, and not a word of its own."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from functions.worker_llm_report.verdict import MOST_ERRORS, Flaw, judge
from tests.functions.llm_report.scene import GOOD, PLAIN, shipped

SECRET = "zebra"
OPEN: dict[str, Any] = {**PLAIN, "additionalProperties": {"type": "number"}}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["summary", "markdown", "x"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("text", [None, "", "  \n\t"])
def test_no_text_is_no_answer(text: str | None) -> None:
    assert judge(text, PLAIN) == Flaw("missing_text")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "```json\n{}\n```",
        "{} and more",
        "NaN",
        '{"a": Infinity}',
        '{"a": 1e999}',
        "1" * 5_000,
        "[" * 100_000,
        "zebra",
    ],
)
def test_what_is_not_one_json_value_is_not_parsed(text: str) -> None:
    assert judge(text, PLAIN) == Flaw("json_parse")


@given(values)
def test_an_answer_is_taken_exactly_if_the_schema_says_so(value: object) -> None:
    fits = Draft202012Validator(PLAIN).is_valid(value)
    verdict = judge(json.dumps(value), PLAIN)
    assert verdict == value if fits else isinstance(verdict, Flaw)


def test_the_summary_comes_first_whatever_else_is_wrong() -> None:
    verdict = judge('{"summary": {}, "details": {}}', shipped())
    assert isinstance(verdict, Flaw)
    assert verdict.errors[:2] == ("missing=summary.markdown", "missing=details.trend")


def test_at_most_ten_things_are_told_and_none_of_them_twice() -> None:
    schema = {"type": "object", "required": [f"p{number}" for number in range(20)]}
    verdict = judge("{}", schema)
    assert isinstance(verdict, Flaw)
    assert verdict.errors == tuple(f"missing=p{number}" for number in range(MOST_ERRORS))


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({**GOOD, SECRET: SECRET}, "path=* expected=number"),
        ({"summary": SECRET, "details": {}}, "path=summary expected=object"),
        ([SECRET], "path=$ expected=object"),
    ],
)
def test_names_that_the_model_made_up_are_not_told(output: object, told: str) -> None:
    verdict = judge(json.dumps(output), OPEN)
    assert isinstance(verdict, Flaw)
    assert verdict.errors == (told,)


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ({"trend": "up", "levels": [1, "x"]}, "path=details.levels.1 expected=number"),
        ({"trend": "zebra", "levels": [1]}, "path=details.trend expected=enum"),
        ({"trend": "up", "levels": []}, "path=details.levels expected=minItems"),
        ({"trend": "up", "levels": [1], "zebra": 1}, "path=details expected=additionalProperties"),
    ],
)
def test_a_place_and_what_was_expected_there(details: dict[str, object], told: str) -> None:
    output = {"summary": {"markdown": "ok"}, "details": {**details, "volatility": "low", "outlook": "fair"}}
    verdict = judge(json.dumps(output), shipped())
    assert isinstance(verdict, Flaw)
    assert verdict.errors == (told,)
    assert verdict.message("STOP") == f"structured_output_invalid kind=schema_validation {told} finishReason=STOP"


@given(st.text(min_size=3).filter(lambda text: text.strip() and not text.isascii()))
def test_nothing_of_an_answer_is_in_its_verdict(word: str) -> None:
    for output in (word, {word: word}, {"summary": {word: word}, "details": [word]}):
        verdict = judge(json.dumps(output), OPEN)
        assert isinstance(verdict, Flaw)
        assert word not in verdict.message("STOP") + " ".join(verdict.errors)


def test_either_of_two_types_is_told_as_such() -> None:
    verdict = judge('{"x": []}', {"type": "object", "properties": {"x": {"type": ["string", "null"]}}})
    assert verdict == Flaw("schema_validation", ("path=x expected=string|null",))


def test_without_a_reason_to_finish_the_message_has_none() -> None:
    assert Flaw("missing_text").message(None) == "structured_output_invalid kind=missing_text"
