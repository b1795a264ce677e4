"""Any schema of a whole grammar gets a valid instance: nothing is refused that can be satisfied."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from emulator.gemini.prompt import Prompt
from emulator.gemini.schema import instance
from emulator.gemini.words import Words

NAMES = st.sampled_from(
    ["trend", "summary", "levels", "support", "confidence", "isBearish", "note", "pctChange", "title"]
)


def within(low: int, high: int, names: tuple[str, str]) -> st.SearchStrategy[dict[str, int]]:
    """Two limits of which the first is not above the second."""
    pairs = st.lists(st.integers(low, high), min_size=2, max_size=2).map(sorted)
    return pairs.map(lambda pair: dict(zip(names, pair, strict=True)))


STRINGS = st.one_of(
    st.just({"type": "string"}),
    within(0, 200, ("minLength", "maxLength")).map(lambda limits: {"type": "string", **limits}),
    st.sampled_from(["date", "date-time", "email", "uri", "uuid"]).map(lambda kind: {"type": "string", "format": kind}),
    st.from_regex(r"\^[a-c]{1,2}\[A-Z\]\+\\d\{[1-3]\}\$", fullmatch=True).map(
        lambda it: {"type": "string", "pattern": it}
    ),
    st.lists(st.sampled_from(["up", "down", "flat", "x"]), min_size=1, unique=True).map(lambda it: {"enum": it}),
    st.text(max_size=5).map(lambda value: {"const": value}),
)
NUMBERS = st.one_of(
    st.sampled_from(["number", "integer"]).map(lambda kind: {"type": kind}),
    within(-500, 500, ("minimum", "maximum")).map(lambda limits: {"type": "integer", **limits}),
    within(-500, 500, ("minimum", "maximum")).map(lambda limits: {"type": "number", **limits}),
    st.integers(-500, 500).map(lambda low: {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + 1}),
    st.integers(-500, 500).map(lambda low: {"type": "integer", "exclusiveMinimum": low, "multipleOf": 5}),
    st.integers(-500, 500).map(lambda high: {"type": "number", "maximum": high, "multipleOf": 0.5}),
)
LEAVES = st.one_of(STRINGS, NUMBERS, st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, True]))


def composed(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(NAMES, below, max_size=4)
    return st.one_of(
        properties.flatmap(
            lambda found: st.lists(st.sampled_from(sorted(found) or ["extra"]), unique=True).map(
                lambda required: {"type": "object", "properties": found, "required": required}
            )
        ),
        properties.map(
            lambda found: {"type": "object", "properties": found, "required": [*found], "additionalProperties": False}
        ),
        st.tuples(below, within(0, 6, ("minItems", "maxItems"))).map(
            lambda pair: {"type": "array", "items": pair[0], **pair[1]}
        ),
        st.lists(below, min_size=1, max_size=3).map(lambda several: {"type": "array", "prefixItems": several}),
        st.lists(below, min_size=1, max_size=3).map(lambda several: {"anyOf": several}),
        below.map(lambda one: {"$defs": {"it": one}, "type": "array", "items": one}),
        below.map(lambda one: {"type": "object", "additionalProperties": one, "minProperties": 2}),
    )


SCHEMAS = st.recursive(LEAVES, composed, max_leaves=12)
PROMPTS = st.sampled_from(["no data", '[{"o": 1, "h": 3, "l": 1, "c": 2}, {"o": 2, "h": 9, "l": 2, "c": 8}]'])


def words(text: str) -> Words:
    return Words(Prompt(text, system="", images=(), schema=None, wants_json=True, token_limit=None))


@settings(max_examples=100)
@given(SCHEMAS, PROMPTS)
def test_instance_of_any_schema_is_valid(schema: Any, text: str) -> None:
    Draft202012Validator(schema).validate(instance(schema, words(text)))
