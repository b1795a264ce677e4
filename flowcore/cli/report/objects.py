"""The objects of a run, as far as they can be read and pointed at. What is missing is said, and breaks nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flowcore.domain.errors import StepFailed
from flowcore.domain.model import Step

Read = Callable[[str], bytes]
Linked = Callable[[str], str | None]

_SCHEME = "gs://"
# Where a browser may be sent: the web, a file, or a place relative to the page. Nothing that could be a script.
_HARMLESS = re.compile(r"(?:https?://|file:///|(?!//)[^:/?#\\\s]*(?:/|$))[^\s\\\x00-\x20\x7f]*")
_ROLES = {"gcs_uri": "result", "outputsManifestGcsUri": "manifest"}


class Missing(Exception):
    """An object cannot be shown; the message says why."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """`href` is a place where the object can be opened, if there is one."""

    role: str
    uri: str
    href: str | None


@dataclass(frozen=True, slots=True)
class Objects:
    read_bytes: Read
    linked: Linked

    def read(self, uri: str) -> bytes:
        try:
            return self.read_bytes(uri)
        except StepFailed as failure:
            raise Missing(failure.error.message) from failure
        except (OSError, LookupError) as failure:
            raise Missing(f"it could not be read ({type(failure).__name__})") from failure

    def pointer(self, role: str, uri: str) -> Pointer:
        href = self.linked(uri) if uri.startswith(_SCHEME) else None
        return Pointer(role, uri, href if href and _HARMLESS.fullmatch(href) else None)

    def of(self, step: Step) -> list[Pointer]:
        """Everything that the step's outputs point at, and those of its earlier attempts; each object once."""
        found: dict[str, str] = {}
        for role, uri in _uris("", step.outputs):
            found.setdefault(uri, role)
        for entry in step.attempts:
            for role, uri in _uris("", entry.get("outputs")):
                found.setdefault(uri, f"{role} of attempt {entry.get('attempt')}")
        return [self.pointer(role, uri) for uri, role in found.items()]


def _uris(key: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        # The result comes first, whatever order the fields are stored in.
        for name in sorted(value, key=lambda name: (name not in _ROLES, str(name))):
            yield from _uris(str(name), value[name])
    elif isinstance(value, list):
        for item in value:
            yield from _uris(key, item)
    elif isinstance(value, str) and value.startswith(_SCHEME):
        yield _ROLES.get(key, key), value
