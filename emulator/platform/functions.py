"""A function as it would be deployed: where its source is, what is called, and when."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from emulator.eventarc import Kind, Subscription
from emulator.eventarc.triggers import LONGEST_RUN

_SPELLED: Final = re.compile(r"(?P<name>[^=]+)=(?P<source>.+):(?P<target>\w+)@(?P<pattern>.+):(?P<kind>\w+)")


@dataclass(frozen=True, slots=True)
class Function:
    """`source` is the folder of its main.py, or the file itself."""

    name: str
    source: Path
    target: str
    pattern: str
    kind: Kind = Kind.WRITTEN
    retry: bool = True
    concurrency: int = 8
    timeout: float = LONGEST_RUN
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Function":
        """NAME=SOURCE:TARGET@PATTERN:TYPE, as on the command line."""
        found = _SPELLED.fullmatch(text)
        if not found or found["kind"] not in set(Kind):
            kinds = ", ".join(Kind)
            raise ValueError(f"{text!r} is not NAME=SOURCE:TARGET@PATTERN:TYPE, with a type of {kinds}")
        return cls(found["name"], Path(found["source"]), found["target"], found["pattern"], Kind(found["kind"]))

    @property
    def main(self) -> Path:
        source = self.source.resolve()
        return source / "main.py" if source.is_dir() else source

    def subscription(self, url: str, project: str) -> Subscription:
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
