"""Who wants to hear of what: a function, a kind of change, and the documents that it is about."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from emulator.firestore import paths
from emulator.firestore.changes import Change

LONGEST_RUN: Final = 540.0  # seconds; the cloud stops an event-driven function then


class Kind(StrEnum):
    """What happened to a document; `written` is any of the others."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    WRITTEN = "written"


def kind_of(change: Change) -> Kind:
    if change.before is None:
        return Kind.CREATED
    return Kind.DELETED if change.after is None else Kind.UPDATED


@dataclass(frozen=True, slots=True)
class Subscription:
    """One function's trigger. Its name is what its undelivered events are kept under, wherever its URL moves to."""

    function: str
    url: str
    pattern: str
    kind: Kind = Kind.WRITTEN
    project: str | None = None  # none: of any project
    database: str = "(default)"
    retry: bool = True
    concurrency: int = 8
    timeout: float = LONGEST_RUN

    def wants(self, change: Change) -> bool:
        _, project, _, database, *_ = change.name.split("/")
        return (
            self.kind in (Kind.WRITTEN, kind_of(change))
            and self.database == database
            and self.project in (None, project)
            and _compiled(self.pattern).fullmatch(paths.relative(change.name)) is not None
        )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`{runId}` and `*` stand for one segment, `{rest=**}` and `**` for any number of them."""
    return re.compile("/".join(_segment(segment) for segment in pattern.strip("/").split("/")))


def _segment(segment: str) -> str:
    inside = re.fullmatch(r"\{[^=}]+(?:=([^}]+))?\}", segment)
    glob = (inside[1] or "*") if inside else segment
    if glob == "**":
        return ".+"
    return "[^/]*".join(re.escape(part) for part in glob.split("*")) if glob != "*" else "[^/]+"
