"""Whether a schema can be used at all: asked before the first paid call, because afterwards it costs.

A schema has to pass three readers: JSON Schema itself (a broken reference would stop the validator in the middle of an
answer), Gemini (which refuses what is nested deeply, and does not follow every keyword), and those who read reports
(every report has a summary to show). What Gemini follows is told in spec/flow_run.md, and where that is known from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jsonschema import Draft202012Validator, SchemaError

# Objects and lists inside of each other. Gemini's own limit is not documented; this one is from experience.
DEEPEST = 5
# Gemini passes over any other keyword, and then its answers would fail a validator that does not.
FOLLOWED = frozenset(
    {"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"}
    | {"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"}
    | {"required", "propertyOrdering"}
)
# It passes over these as well, but a model keeps to a limit that it is told in words, so they may stand.
LIMITS = frozenset(
    {"minLength", "maxLength", "pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"}
    | {"minProperties", "maxProperties"}
)
# And these demand nothing of an answer.
REMARKS = frozenset(
    {"$schema", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"contentEncoding", "contentMediaType"}
)
_TAKEN = FOLLOWED | LIMITS | REMARKS
# Where schemas stand inside of schemas: one, several in a list, several by name.
_ONE = ("items", "additionalProperties")
_LISTED = ("prefixItems", "anyOf", "oneOf")
_NAMED = ("properties", "$defs")

Schema = Mapping[str, object]


class Unfit(Exception):
    """Why a schema cannot be used, and where in it."""


def fit(schema: object) -> Schema:
    """The schema, if it can be used; else `Unfit`."""
    if not isinstance(schema, Mapping):
        raise Unfit("it is no map")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise Unfit(f"{_place(error.absolute_path)} is not JSON Schema (draft 2020-12)") from error
    parts = list(_parts(schema, ()))
    for place, part in parts:
        _check_part(part, place)
        if "$ref" in part and not any(_target(schema, str(part["$ref"])) is known for _, known in parts):
            raise Unfit(f"$ref {part['$ref']!r} points at no schema inside of it")
    if _depth(schema, schema, {}) > DEEPEST:
        raise Unfit(f"its data is nested deeper than {DEEPEST} levels")
    _check_shape(schema)
    return schema


def _parts(schema: object, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """The schema and every schema inside of it, with the way to each."""
    if isinstance(schema, Mapping):
        yield place, schema
        for way, part in _children(schema, (*_NAMED, *_ONE, *_LISTED)):
            yield from _parts(part, (*place, *way))


def _children(schema: Schema, keywords: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    for keyword in keywords:
        value = schema.get(keyword)
        if keyword in _NAMED and isinstance(value, Mapping):
            yield from (((keyword, str(name)), part) for name, part in value.items())
        elif keyword in _LISTED and isinstance(value, list):
            yield from (((keyword, str(index)), part) for index, part in enumerate(value))
        elif keyword in _ONE and keyword in schema:
            yield (keyword,), value


def _check_part(part: Schema, place: tuple[str, ...]) -> None:
    if found := sorted(part.keys() - _TAKEN):
        raise Unfit(f"{_place(place)} uses {found[0]}, which Gemini does not follow")
    if not all(_spelled(value) for value in _listed(part.get("enum"))):
        raise Unfit(f"{_place(place)}.enum has more than strings and numbers, which Gemini does not follow")
    if "$id" in part and place:
        raise Unfit(f"{_place(place)} has an $id of its own; only the whole schema may")
    beside = sorted(keyword for keyword in part if not keyword.startswith("$"))
    if "$ref" in part and beside:
        raise Unfit(f"{_place(place)} has {beside[0]} beside its $ref, which Gemini does not take")


def _spelled(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _target(root: Schema, reference: str) -> Schema:
    """What a reference points at: something inside of the same schema. Nothing is ever fetched."""
    found: object = root if reference.startswith("#") else None
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(name)] if name.isdecimal() and int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not (reference == "#" or reference.startswith("#/")):
        raise Unfit(f"$ref {reference!r} points at no schema inside of it")
    return found


def _depth(root: Schema, schema: object, known: dict[str, int]) -> int:
    """How many objects and lists stand inside of each other in the data."""
    if not isinstance(schema, Mapping):
        return 0
    below = 0
    if "$ref" in schema:
        reference = str(schema["$ref"])
        if reference not in known:
            known[reference] = DEEPEST + 1  # met again before it is known, it contains itself: without end
            known[reference] = _depth(root, _target(root, reference), known)
        below = known[reference]
    inside = [_depth(root, part, known) for _, part in _children(schema, ("properties", *_ONE, "prefixItems"))]
    beside = [_depth(root, part, known) for _, part in _children(schema, ("anyOf", "oneOf"))]
    kinds = schema.get("type")
    holds = bool(inside) or not {"object", "array"}.isdisjoint(kinds if isinstance(kinds, list) else [kinds])
    return max(below, 1 + max(inside, default=0) if holds else 0, *beside)


def _check_shape(schema: Schema) -> None:
    """Every report has `summary.markdown` to show, and `details` behind it."""
    root = _resolved(schema, schema)
    summary = _demanded(schema, root, "summary", "summary", "object")
    _demanded(schema, root, "details", "details", None)
    _demanded(schema, summary, "markdown", "summary.markdown", "string")


def _demanded(root: Schema, parent: Schema, name: str, place: str, kind: str | None) -> Schema:
    required, properties = parent.get("required"), parent.get("properties")
    if parent.get("type") != "object" or not isinstance(required, list) or name not in required:
        raise Unfit(f"it does not require {place}")
    found = _resolved(root, properties.get(name) if isinstance(properties, Mapping) else None)
    if kind and found.get("type") != kind:
        raise Unfit(f"{place} is not of type {kind}")
    return found


def _resolved(root: Schema, schema: object) -> Schema:
    while isinstance(schema, Mapping) and "$ref" in schema:
        schema = _target(root, str(schema["$ref"]))
    return schema if isinstance(schema, Mapping) else {}


def _place(path: Iterable[object]) -> str:
    return ".".join(map(str, path)) or "the schema"
