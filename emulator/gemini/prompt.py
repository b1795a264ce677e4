"""The request, understood: what is asked, with what, and in which shape the answer is wanted.

The client library mixes the spelling of field names within one body (`inlineData.mime_type`), and the real service
takes both; so does this reader.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from emulator.gemini.errors import invalid

TOKEN_CHARACTERS: Final = 4
IMAGE_TOKENS: Final = 258
BLOCK: Final = re.compile(r"^<(\w+)[ >]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one call sends; `schema` is what the answer has to be an instance of."""

    text: str
    system: str
    images: tuple[bytes, ...]
    schema: Any
    wants_json: bool
    token_limit: int | None

    @property
    def text_tokens(self) -> int:
        return tokens(self.system) + tokens(self.text)

    @property
    def image_tokens(self) -> int:
        return IMAGE_TOKENS * len(self.images)


def tokens(text: str) -> int:
    """Four characters a token, as the service's own guide has it."""
    return -(-len(text) // TOKEN_CHARACTERS)


def parse(body: Any) -> Prompt:
    """The only reader of raw requests."""
    if not isinstance(body, dict):
        raise invalid("Invalid JSON payload received. Unexpected token.")
    try:
        return _parsed(body)
    except (AttributeError, TypeError, ValueError, RecursionError):
        # A text where a list belongs, or the like: the service's own front end knows every type, and refuses.
        raise invalid("Invalid JSON payload received. A field has a value of another type.") from None


def outline(body: Any) -> dict[str, list[str]]:
    """What a question is known by, and not a word of what it asks: its stop sequences, and the names of its blocks.

    Of a question that nobody can read, nothing.
    """
    try:
        texts = [str(field(part, "text") or "") for content in field(body, "contents") for part in _parts(content)]
        stops = [str(stop) for stop in field(field(body, "generationConfig"), "stopSequences") or ()]
    except TypeError:
        return {"stops": [], "blocks": []}
    return {"stops": stops, "blocks": [name for text in texts for name in BLOCK.findall(text)]}


def _parsed(body: dict[str, Any]) -> Prompt:
    contents = field(body, "contents")
    if not contents:
        raise invalid("* GenerateContentRequest.contents: contents is not specified\n")
    parts = [part for content in contents for part in _parts(content)]
    config = field(body, "generationConfig") or {}
    json_schema, schema = field(config, "responseJsonSchema"), field(config, "responseSchema")
    mime_type = field(config, "responseMimeType") or "text/plain"
    if mime_type not in {"text/plain", "application/json", "text/x.enum"}:
        raise invalid(f"* GenerateContentRequest.generation_config.response_mime_type: unknown type {mime_type}\n")
    if (json_schema or schema) and mime_type == "text/plain":
        raise invalid("Controlled generation of a schema needs response_mime_type application/json.")
    return Prompt(
        text="\n".join(str(text) for part in parts if (text := field(part, "text"))),
        system="\n".join(str(field(part, "text") or "") for part in _parts(field(body, "systemInstruction"))),
        images=tuple(_image(data) for part in parts if (data := field(part, "inlineData"))),
        schema=json_schema if json_schema is not None else _from_openapi(schema),
        wants_json=mime_type == "application/json",
        token_limit=None if (limit := field(config, "maxOutputTokens")) is None else int(limit),
    )


def field(mapping: Any, name: str) -> Any:
    """A field under its camelCase name, or the same name in snake_case."""
    if not isinstance(mapping, Mapping):
        return None
    snake = re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)
    return mapping.get(name, mapping.get(snake))


def _parts(content: Any) -> list[Any]:
    parts = field(content, "parts") or []
    return parts if isinstance(parts, list) else [parts]


def _image(data: Any) -> bytes:
    if not field(data, "mimeType"):
        raise invalid("* GenerateContentRequest.contents: inline_data has no mime_type\n")
    try:
        # URL-safe or not: the library sends one, people paste the other.
        return base64.b64decode(str(field(data, "data")).translate(str.maketrans("-_", "+/")), validate=True)
    except binascii.Error:
        raise invalid(
            "Invalid value at 'contents.parts.inline_data.data' (TYPE_BYTES), Base64 decoding failed."
        ) from None


def _from_openapi(schema: Any) -> Any:
    """The older `responseSchema` (OBJECT, STRING, nullable) as the JSON Schema that it means."""
    if isinstance(schema, list):
        return [_from_openapi(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            result[name] = {key: _from_openapi(item) for key, item in value.items()}
        elif name == "type":
            result[name] = str(value).lower()
        elif name in {"enum", "required", "default", "example"}:
            result[name] = value
        else:
            camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
            result[camel] = int(value) if re.fullmatch(r"(min|max)(Items|Length)", camel) else _from_openapi(value)
    return {"anyOf": [result, {"type": "null"}]} if result.pop("nullable", False) else result
