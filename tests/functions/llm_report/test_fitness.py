"""Which schemas may be paid for."""

import re
from typing import Any

import pytest
from google.genai import types

from functions.worker_llm_report.fitness import DEEPEST, FOLLOWED, Unfit, fit
from tests.functions.llm_report.scene import PLAIN

TEXT = {"type": "string"}
# What google-genai documents of `response_json_schema`, and JSON Schema of what demands nothing or is a mere limit.
TAKEN = {
    "$defs": {},
    "$anchor": "a",
    "type": "object",
    "format": "date",
    "title": "t",
    "description": "d",
    "enum": ["a", 1, 2.5],
    "items": TEXT,
    "prefixItems": [TEXT],
    "minItems": 1,
    "maxItems": 1,
    "minimum": 0,
    "maximum": 1,
    "anyOf": [TEXT],
    "oneOf": [TEXT],
    "properties": {},
    "additionalProperties": False,
    "required": [],
    "propertyOrdering": [],
    "minLength": 1,
    "maxLength": 1,
    "pattern": "^a",
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 1,
    "multipleOf": 1,
    "uniqueItems": True,
    "minProperties": 1,
    "maxProperties": 1,
    "$comment": "c",
    "default": 1,
    "examples": [1],
    "deprecated": False,
    "readOnly": False,
    "writeOnly": False,
    "contentEncoding": "base64",
    "contentMediaType": "image/png",
}
PASSED_OVER = {
    "allOf": [True],
    "not": {},
    "if": {},
    "then": {},
    "else": {},
    "const": "a",
    "contains": {},
    "minContains": 1,
    "maxContains": 1,
    "propertyNames": {},
    "patternProperties": {},
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {},
    "dependencies": {},
    "definitions": {},
    "unevaluatedItems": {},
    "unevaluatedProperties": {},
    "contentSchema": {},
    "$dynamicRef": "#a",
    "$dynamicAnchor": "a",
    "$vocabulary": {},
    "nullable": True,
    "discriminator": {},
}


def with_details(details: object, **more: object) -> dict[str, Any]:
    return {**PLAIN, "properties": {**PLAIN["properties"], "details": details}, **more}


def nested(levels: int) -> dict[str, Any]:
    """That many objects and lists inside of each other, below a leaf's parent."""
    schema: dict[str, Any] = TEXT
    for level in range(levels):
        schema = {"type": "array", "items": schema} if level % 2 else {"type": "object", "properties": {"x": schema}}
    return schema


FIT = {
    "the smallest": PLAIN,
    "as deep as may be": with_details(nested(DEEPEST - 1)),
    "a reference": with_details({"$ref": "#/$defs/d"}, **{"$defs": {"d": {"type": "object"}}}),
    "a reference to a reference": with_details(
        {"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "object"}}}
    ),
    "a reference used twice": with_details(
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/d"}, "y": {"$ref": "#/$defs/d"}}},
        **{"$defs": {"d": nested(DEEPEST - 2)}},
    ),
    "a reference with a quoted name": with_details({"$ref": "#/$defs/a~1b~0c"}, **{"$defs": {"a/b~c": TEXT}}),
    "a reference into a list": with_details({"anyOf": [TEXT, {"$ref": "#/properties/details/anyOf/0"}]}),
    "limits on values": with_details(
        {"type": "object", "properties": {"x": {**TEXT, "pattern": "^a", "minLength": 2}}}
    ),
    "details of any type": with_details(True),
    "its own name": {"$id": "urn:x", "$schema": "https://json-schema.org/draft/2020-12/schema", **PLAIN},
    "properties called like keywords": with_details({"type": "object", "properties": {"not": TEXT, "$id": TEXT}}),
}

UNFIT = {
    "too deep": (with_details(nested(DEEPEST)), "nested deeper"),
    "too deep by reference": (
        with_details({"$ref": "#/$defs/d"}, **{"$defs": {"d": nested(DEEPEST)}}),
        "nested deeper",
    ),
    "too deep by choice": (with_details({"anyOf": [TEXT, nested(DEEPEST)]}), "nested deeper"),
    "contains itself": (with_details({"$ref": "#"}), "nested deeper"),
    "is itself": ({"$ref": "#"}, "nested deeper"),
    "a circle of references": (
        with_details({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        "nested deeper",
    ),
    "a broken reference": (with_details({"$ref": "#/$defs/gone"}), "points at no schema"),
    "a reference past a list": (with_details({"anyOf": [TEXT, {"$ref": "#/properties/details/anyOf/7"}]}), "no schema"),
    "a reference to the net": (with_details({"$ref": "https://example.com/x.json"}), "points at no schema"),
    "a reference to a file": (with_details({"$ref": "other.json#/x"}), "points at no schema"),
    "a reference to a name": (with_details({"$ref": "#name"}), "points at no schema"),
    "a reference to what is no schema": (
        with_details({"$ref": "#/default"}, default={"allOf": [False]}),
        "'#/default' points at no schema",
    ),
    "a reference with a demand beside it": (
        with_details({"$ref": "#/$defs/d", "type": "object"}, **{"$defs": {"d": {"type": "object"}}}),
        "properties.details has type beside its $ref",
    ),
    "a choice of truths": (with_details({"enum": [True]}), "properties.details.enum has more than strings and numbers"),
    "a choice of nothing": (with_details({"enum": ["up", None]}), "more than strings and numbers"),
    "a choice of lists": (with_details({"enum": [["up"]]}), "more than strings and numbers"),
    "a broken reference that is not used": ({**PLAIN, "$defs": {"d": {"$ref": "#/gone"}}}, "points at no schema"),
    "another base": (with_details({"$id": "urn:y", "type": "object"}), "has an $id of its own"),
    "not a schema": (with_details({"type": "objekt"}), "is not JSON Schema"),
    "not a map": ([], "no map"),
    "a flag": (True, "no map"),
    "any value": ({"required": ["summary", "details"]}, "does not require summary"),
    "no properties": ({"type": "object", "required": ["summary", "details"]}, "summary is not of type object"),
    "summary of any type": (
        {**PLAIN, "properties": {"summary": {"required": ["markdown"], "properties": {"markdown": TEXT}}}},
        "summary is not of type object",
    ),
}


@pytest.mark.parametrize("schema", FIT.values(), ids=FIT.keys())
def test_fit(schema: dict[str, Any]) -> None:
    assert fit(schema) is schema


@pytest.mark.parametrize(("schema", "words"), UNFIT.values(), ids=UNFIT.keys())
def test_unfit(schema: object, words: str) -> None:
    with pytest.raises(Unfit, match=words.replace("$", r"\$")):
        fit(schema)


def test_what_gemini_follows_is_what_its_library_says() -> None:
    """A new version of it may know more, or less: then this list and the spec's are to be looked at."""
    told = types.GenerateContentConfig.model_fields["response_json_schema"].description or ""
    listed = told.split("properties are supported:")[1].split("Cyclic references")[0]
    assert set(re.findall(r"`([$\w]+)`", listed)) == FOLLOWED


@pytest.mark.parametrize("keyword", TAKEN)
def test_what_gemini_follows_and_what_does_no_harm_is_taken(keyword: str) -> None:
    fit(with_details({keyword: TAKEN[keyword]}))


@pytest.mark.parametrize("keyword", PASSED_OVER)
@pytest.mark.parametrize("place", ["root", "property", "item", "choice", "definition"])
def test_what_gemini_passes_over_is_found_wherever_it_stands(keyword: str, place: str) -> None:
    bad = {keyword: PASSED_OVER[keyword]}
    schema = {
        "root": {**PLAIN, **bad},
        "property": with_details({"type": "object", "properties": {"x": bad}}),
        "item": with_details({"type": "array", "items": bad}),
        "choice": with_details({"oneOf": [TEXT, bad]}),
        "definition": {**PLAIN, "$defs": {"d": bad}},
    }[place]
    with pytest.raises(Unfit, match=f"uses {keyword.replace('$', '.')}, which Gemini"):
        fit(schema)
