"""A function as it would be deployed: where its source is, what is called, and when."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from emulator.eventarc import Kind, Subscription
from emulator.eventarc.triggers import LONGEST_RUN

SPELLING: Final = "NAME=SOURCE:TARGET[@PATTERN:TYPE]"
_SPELLED: Final = re.compile(r"(?P<name>[^=]+)=(?P<source>[^@]+):(?P<target>\w+)(?:@(?P<pattern>.+):(?P<kind>\w+))?")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Cloud Scheduler calls the function every so many seconds, with this query."""

    every: float
    query: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """Called with an event for each change of the documents that fit its pattern; without a pattern, by HTTP.

    `source` is the folder of its main.py, or the file itself. `environment` is its own share of the environment; when
    all functions share a process they share all of it.
    """

    name: str
    source: Path
    target: str
    pattern: str | None = None
    kind: Kind = Kind.WRITTEN
    retry: bool = True
    concurrency: int = 8
    timeout: float = LONGEST_RUN
    environment: Mapping[str, str] = field(default_factory=dict)
    schedules: Sequence[Schedule] = ()

    @classmethod
    def parse(cls, text: str) -> "Function":
        """NAME=SOURCE:TARGET@PATTERN:TYPE, or for an HTTP function NAME=SOURCE:TARGET, as on the command line."""
        found = _SPELLED.fullmatch(text)
        if not found or found["kind"] not in {None, *Kind}:
            raise ValueError(f"{text!r} is not {SPELLING}, with a type of {', '.join(Kind)}")
        kind = Kind(found["kind"] or Kind.WRITTEN)
        return cls(found["name"], Path(found["source"]), found["target"], found["pattern"], kind)

    @property
    def main(self) -> Path:
        source = self.source.resolve()
        return source / "main.py" if source.is_dir() else source

    @property
    def signature(self) -> str:
        """What the functions-framework calls its kind."""
        return "http" if self.pattern is None else "cloudevent"

    def subscription(self, url: str, project: str) -> Subscription | None:
        """Its trigger; none for a function that is called by HTTP."""
        if self.pattern is None:
            return None
        return Subscription(
            self.name,
            url,
            self.pattern,
            self.kind,
            project,
            retry=self.retry,
            concurrency=self.concurrency,
            timeout=self.timeout,
        )
