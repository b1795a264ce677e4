"""What a request turned out to be: named, so that it can be counted and met by a fault, and not yet done."""

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.bigquery.errors import invalid
from emulator.web import Reply, Request


class Operation(NamedTuple):
    """A method and a resource by their official names, and what to do."""

    method: str
    resource: str
    run: Callable[[], Reply]


def object_in(request: Request) -> dict[str, Any]:
    """The JSON object that a request carries."""
    try:
        value = request.json()
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None
    if not isinstance(value, dict):
        raise invalid("Invalid JSON payload received. Root element must be a message.")
    return value
