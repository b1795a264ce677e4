"""An instance of any JSON Schema, filled from what the writer knows.

A schema says which shapes are right; it does not say what to write. So this module walks the schema and asks a
`Source` for each leaf, by the names on the way to it; then it bends the value until the schema's limits hold. Whatever
comes out is validated before it is sent: a schema that cannot be satisfied this way is refused, never half-served.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from jsonschema import Draft202012Validator, SchemaError

from emulator.gemini.errors import GeminiError, invalid
from emulator.gemini.fitting import Unfit, bounded, distinct, fitting

DEEPEST: Final = 24
KEY: Final = "generation_config.response_json_schema"

Schema = Mapping[str, Any]
Path = tuple[str, ...]


class Source(Protocol):
    """What can be said about a leaf, known by the names on the way to it; `index` is its place in a list."""

    def text(self, path: Path, index: int) -> str: ...
    def number(self, path: Path, index: int) -> float: ...
    def flag(self, path: Path) -> bool: ...
    def choice(self, options: Sequence[Any]) -> Any: ...


def instance(schema: Any, source: Source) -> Any:
    """A valid instance, or the refusal that the service would send."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise invalid(f"Invalid value at '{KEY}': {error.message}") from None
    if (depth := _depth(schema)) > DEEPEST:
        raise invalid(f"The specified schema is nested too deeply: {depth} levels, at most {DEEPEST} are supported.")
    try:
        value = _Writer(schema, source).write(schema, (), 0)
    except Unfit as error:
        raise invalid(f"The specified schema is not supported: {error}") from None
    check(schema, value)
    return value


def check(schema: Any, value: Any) -> None:
    complaint = next(iter(Draft202012Validator(schema).iter_errors(value)), None)
    if complaint is not None:
        raise GeminiError(400, "INVALID_ARGUMENT", f"The specified schema is not supported: {complaint.message}")


class _Writer:
    def __init__(self, root: Any, source: Source) -> None:
        self._root = root
        self._source = source
        self._open: list[str] = []  # the references that are being written, innermost last

    def write(self, schema: Any, path: Path, index: int) -> Any:
        if schema is False:
            raise Unfit("it allows nothing")
        if schema is True:
            return self._typed({}, path, index)
        if "$ref" in schema:
            with self._inside(schema["$ref"]) as (target,):
                return self.write(_merged(_without(schema, "$ref"), target), path, index)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            if not schema["enum"]:
                raise Unfit("it allows nothing")
            return self._source.choice(schema["enum"])
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._one_of(_without(schema, word), schema[word], path, index)
        if "allOf" in schema:
            return self._all_of(_without(schema, "allOf"), schema["allOf"], path, index)
        return self._typed(schema, path, index)

    def _typed(self, schema: Schema, path: Path, index: int) -> Any:
        match _type(schema):
            case "object":
                return self._object(schema, path)
            case "array":
                return self._array(schema, path)
            case "string":
                return fitting(self._source.text(path, index), schema)
            case "number":
                return bounded(self._source.number(path, index), schema)
            case "integer":
                return round(bounded(round(self._source.number(path, index)), {"multipleOf": 1, **schema}))
            case "boolean":
                return self._source.flag(path)
        return None

    @contextmanager
    def _inside(self, *references: str) -> Iterator[list[Schema]]:
        """What the references point to, unless we are inside of it already."""
        for reference in references:
            if reference in self._open:
                raise Unfit(f"{reference} contains itself")
        before = len(self._open)
        self._open += references
        try:
            yield [self._target(reference) for reference in references]
        finally:
            del self._open[before:]

    def _target(self, reference: str) -> Schema:
        if not reference.startswith("#"):
            raise Unfit(f"{reference} points outside of the schema")
        found = self._root
        for step in reference[1:].strip("/").split("/") if reference != "#" else []:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise Unfit(f"{reference} points nowhere")
        return found

    def _one_of(self, base: Schema, alternatives: Sequence[Any], path: Path, index: int) -> Any:
        reasons = []
        for alternative in sorted(alternatives, key=lambda one: one == {"type": "null"}):  # something beats nothing
            try:
                return self.write(_merged(base, alternative), path, index)
            except Unfit as error:
                reasons.append(str(error))
        raise Unfit("; ".join(reasons) or "it allows nothing")

    def _all_of(self, base: Schema, parts: Sequence[Any], path: Path, index: int) -> Any:
        written = [part for part in parts if not isinstance(part, bool)]
        with self._inside(*(part["$ref"] for part in written if "$ref" in part)) as targets:
            merged = dict(base)
            for part in (*targets, *(_without(part, "$ref") for part in written), False not in parts):
                merged = _merged(merged, part)
            return self.write(merged, path, index)

    def _object(self, schema: Schema, path: Path) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        properties = schema.get("properties", {})
        order = schema.get("propertyOrdering", list(properties))
        result: dict[str, Any] = {}
        for name in [*order, *(name for name in schema.get("required", ()) if name not in order)]:
            try:
                result[name] = self.write(properties.get(name, self._extra(schema)), (*path, name), 0)
            except Unfit:
                if name in required:
                    raise
        while len(result) < schema.get("minProperties", 0):
            result[f"item{len(result) + 1}"] = self.write(self._extra(schema), path, len(result))
        return result

    @staticmethod
    def _extra(schema: Schema) -> Any:
        extra = schema.get("additionalProperties", True)
        return {"type": "string"} if extra is True else extra

    def _array(self, schema: Schema, path: Path) -> list[Any]:
        first = [self.write(item, path, index) for index, item in enumerate(schema.get("prefixItems", ()))]
        least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
        wanted = max(least, min(most, max(2, len(first))))
        items = schema.get("items", {"type": "string"} if not first else False)
        result = first[:most]
        try:
            while len(result) < wanted and items is not False:
                allowed = _unused(items, result) if schema.get("uniqueItems") else items
                result.append(self.write(allowed, path, len(result)))
        except Unfit:
            if len(result) < least:
                raise
        return distinct(result) if schema.get("uniqueItems") else result


# --- reading a schema -------------------------------------------------------------------------------------


def _type(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    hints: Iterator[str] = (
        name
        for name, words in {
            "object": ("properties", "required", "additionalProperties"),
            "array": ("items", "prefixItems"),
            "number": ("minimum", "maximum", "multipleOf"),
        }.items()
        if any(word in schema for word in words)
    )
    return next(hints, "string")


def _without(schema: Schema, word: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != word}


def _unused(schema: Any, values: Sequence[Any]) -> Any:
    """The same schema without the choices that were made already."""
    if schema is True or "enum" not in schema:
        return schema
    return {**schema, "enum": [option for option in schema["enum"] if option not in values]}


def _merged(base: Schema, more: Any) -> dict[str, Any]:
    """Both at once: properties and requirements add up, the rest is taken from the second."""
    if more is False:
        raise Unfit("it allows nothing")
    if more is True:
        return dict(base)
    result = {**base, **more}
    if "properties" in base and "properties" in more:
        result["properties"] = {**base["properties"], **more["properties"]}
    if "required" in base and "required" in more:
        result["required"] = [*base["required"], *(name for name in more["required"] if name not in base["required"])]
    return result


def _depth(schema: Any) -> int:
    """How many schemas stand inside each other, references not followed."""
    if isinstance(schema, list):
        return max(map(_depth, schema), default=0)
    if not isinstance(schema, dict):
        return 0
    below = [_depth(value) for name, value in schema.items() if name not in {"properties", "$defs", "definitions"}]
    for word in ("properties", "$defs", "definitions"):
        below += [_depth(value) for value in schema.get(word, {}).values()]
    return 1 + max(below, default=0)
