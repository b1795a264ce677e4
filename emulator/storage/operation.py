"""What a request turned out to be: named, so that it can be counted and met by a fault, and not yet done."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.storage.errors import invalid
from emulator.web import Reply, Request


class Operation(NamedTuple):
    """A method and a resource by their official names, and what to do."""

    method: str
    resource: str
    run: Callable[[], Reply]


def object_in(body: bytes) -> dict[str, Any]:
    """The JSON object that a body holds; an empty body holds an empty one."""
    try:
        value = json.loads(body or b"{}")
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        raise invalid("Parse Error") from None
    if not isinstance(value, dict):
        raise invalid("Parse Error: the body is not a JSON object.")
    return value


def generation_in(request: Request, name: str = "generation") -> int | None:
    """The one generation that a request is about; None: the live one."""
    text = request.query.get(name)
    if text is not None and not text.isdigit():
        raise invalid(f"Invalid value for {name}: {text!r} is not an integer.")
    return int(text) if text else None
