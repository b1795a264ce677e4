"""What an API is asked: a path and a verb become the name of a method, a resource, and something still to be done.

That is what makes every call countable, and lets a fault strike before the effect or after it.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import unquote

from emulator.control_plane.errors import invalid, not_imitated
from emulator.control_plane.resources import Json
from emulator.web import Request

_VERSION: Final = re.compile(r"v\d+[a-z0-9]*/")


@dataclass(frozen=True)
class Asked:
    """A request to an API, and the resource that it is about; for a whole collection, its parent."""

    request: Request
    name: str

    @cached_property
    def body(self) -> Json:
        try:
            value = self.request.json()
        except ValueError:
            raise invalid("Invalid JSON payload received.") from None
        if not isinstance(value, dict):
            raise invalid("Invalid JSON payload received: it is not an object.")
        return value

    @property
    def query(self) -> dict[str, str]:
        return self.request.query


Handler = Callable[[Asked], Json]


class Route(NamedTuple):
    """`pattern` has a `*` for each segment that may be anything; `method` is what the API's reference calls it."""

    verb: str
    pattern: str
    method: str
    run: Handler

    def fits(self, verb: str, path: str) -> bool:
        return verb == self.verb and re.fullmatch(_expression(self.pattern), path) is not None

    def subject(self, path: str) -> str:
        """The resource that is meant: without a verb behind it, and for a whole collection its parent."""
        noun = path.rpartition(":")[0] if ":" in self.pattern else path
        return unquote(noun if self.pattern.partition(":")[0].endswith("*") else noun.rpartition("/")[0])


class Call(NamedTuple):
    """What a request turned out to be: named, so that it can be counted and met by a fault, and not yet done."""

    method: str
    resource: str
    run: Callable[[], Json]


class GoogleApi:
    """One of them, by the name that gcloud has for it. `host`: what has to be enabled first; none: nothing has."""

    def __init__(self, name: str, *routes: Iterable[Route], host: str | None = None) -> None:
        self.name: Final = name
        self.host: Final = host
        self._routes = [route for some in routes for route in some]

    def call(self, request: Request, rest: str) -> Call:
        """`rest` is the path after the API's name."""
        path = _VERSION.sub("", rest, count=1) if _VERSION.match(rest) else rest
        route = next((route for route in self._routes if route.fits(request.method, path)), None)
        if route is None:
            raise not_imitated(f"{request.method} {path} of {self.name}")
        asked = Asked(request, route.subject(path))
        return Call(f"{self.name}.{route.method}", asked.name, lambda: route.run(asked))


def _expression(pattern: str) -> str:
    return "[^/:]+".join(re.escape(part) for part in pattern.split("*"))
