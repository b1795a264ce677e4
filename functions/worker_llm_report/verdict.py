"""Whether an answer can be used, and if not, what to say about it: enough to mend it, and nothing of what it says.

A model's text may repeat the prompt, so it stays out of logs, errors and documents. What may be told is what the schema
says, and where: names that the schema knows, and places in lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import NoReturn

from jsonschema import Draft202012Validator
from jsonschema import ValidationError as Mismatch

MOST_ERRORS = 10


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why an answer cannot be used. `errors` are like `missing=summary.markdown` and `path=details expected=object`."""

    kind: str
    errors: tuple[str, ...] = ()

    def message(self, finish_reason: str | None) -> str:
        words = ["structured_output_invalid", f"kind={self.kind}", *self.errors[:1]]
        return " ".join([*words, f"finishReason={finish_reason}"] if finish_reason else words)


def judge(text: str | None, schema: Mapping[str, object]) -> Mapping[str, object] | Flaw:
    """The answer as a value, if it is one of the schema's."""
    if not text or not text.strip():
        return Flaw("missing_text")
    try:
        output = json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except (ValueError, RecursionError):
        return Flaw("json_parse")
    mismatches = Draft202012Validator(schema).iter_errors(output)
    names = frozenset(_names(schema))
    found = dict.fromkeys(told for mismatch in sorted(mismatches, key=_weight) for told in _told(mismatch, names))
    return Flaw("schema_validation", tuple(islice(found, MOST_ERRORS))) if found else output


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(figure: str) -> float:
    """`1e999` is JSON, but what Python makes of it is not, and the report could be read by nobody else."""
    number = float(figure)
    return number if isfinite(number) else _no_json(figure)


def _weight(mismatch: Mismatch) -> tuple[bool, list[str]]:
    """The summary first: it is what every report has to have."""
    path = [str(step) for step in mismatch.absolute_path]
    return path[:1] != ["summary"], path


def _told(mismatch: Mismatch, names: frozenset[str]) -> Iterator[str]:
    path = [str(step) if isinstance(step, int) or step in names else "*" for step in mismatch.absolute_path]
    if mismatch.validator == "required":
        there = mismatch.instance if isinstance(mismatch.instance, Mapping) else {}
        missing = [name for name in _listed(mismatch.validator_value) if name not in there]
        yield from (f"missing={'.'.join([*path, name])}" for name in missing)
    else:
        expected = mismatch.validator_value if mismatch.validator == "type" else mismatch.validator
        yield f"path={'.'.join(path) or '$'} expected={'|'.join(_listed(expected))}"


def _listed(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _names(schema: object) -> Iterator[str]:
    """Every name of a property that the schema has, wherever."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from map(str, properties if isinstance(properties, Mapping) else ())
    inside: Iterable[object] = (
        schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    )
    for part in inside:
        yield from _names(part)
