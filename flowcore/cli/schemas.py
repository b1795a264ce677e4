"""The JSON Schemas of flows and runs, and their complaints in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from flowcore.domain.errors import one_line, shown

RUN = "urn:flowcore:flow_run"
DEFINITION = "urn:flowcore:flow_definition"
STEP_OF_A_RUN = f"{RUN}#/$defs/step"
STEP_OF_A_DEFINITION = f"{DEFINITION}#/properties/steps/additionalProperties"
PARAMETER = f"{DEFINITION}#/properties/parameters/additionalProperties"
INPUTS: Mapping[str, str] = {
    "OHLCV_EXPORT": f"{RUN}#/$defs/ohlcvExportInputs",
    "CHART_EXPORT": f"{RUN}#/$defs/chartExportInputs",
    "LLM_REPORT": f"{RUN}#/$defs/llmReportInputs",
}
_SPEC = Path(__file__).parents[2] / "spec"
_FILES = (_SPEC / "flow_run.schema.json", _SPEC / "flow_definition.schema.json")
# What the spec says besides the schema: fields that some producer writes and nobody has to.
_ALSO = {RUN: ("definitionSha256", "requestSha256")}
_KINDS = {
    "object": "a map",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}


def mistakes(schema: str, value: object) -> Iterator[tuple[str, str]]:
    """The path and what is wrong there, for each mistake."""
    for error in Draft202012Validator({"$ref": schema}, registry=_registry()).iter_errors(value):
        yield _told(error)


def fields(schema: str) -> list[str]:
    return [*contents(schema)["properties"], *_ALSO.get(schema, ())]


def contents(schema: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _registry().resolver().lookup(schema).contents
    return found


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference inside the schema of a run leads to; anything else is itself."""
    return contents(f"{RUN}{schema['$ref']}") if "$ref" in schema else schema


def joined(parts: Any) -> str:
    """`steps.a.dependsOn[0]`, as all our messages spell a path."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")


@cache
def _registry() -> Any:
    contents = [json.loads(file.read_text("utf-8")) for file in _FILES]
    return Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in contents)


def _told(error: ValidationError) -> tuple[str, str]:
    expected: Any = error.validator_value
    path = joined(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        return f"{path}.{error.instance}", "cannot be a step's id; none of . / ~ * [ ] or a back-tick may be in it"
    match error.validator:
        case "required":
            said = error.message.replace("is a required property", "is missing")
        case "type":
            kinds = [expected] if isinstance(expected, str) else expected
            said = f"must be {' or '.join(_KINDS[kind] for kind in kinds if kind != 'null')}"
        case "enum":
            said = f"must be one of {', '.join(map(str, expected))}"
        case "const":
            said = f"must be {expected}"
        case "pattern":
            said = f"{shown(error.instance)} does not match {expected}"
        case "minProperties" | "minItems" | "minLength":
            said = "must not be empty"
        case "minimum":
            said = f"must be {expected} at least"
        case "anyOf" if all("required" in alternative for alternative in expected):
            said = f"{' or '.join(repr(alternative['required'][0]) for alternative in expected)} is missing"
        case "anyOf":  # every other choice in the schema is one between the spellings of a time
            said = "must be an RFC 3339 time with an offset"
        case _:
            said = one_line(error.message)
    return path, said
