"""The auditor, listening while a load is on: of what happened the platform's memory holds only so much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from emulator.history import History
from flowcore.cli.world import BUCKET
from tests.chaos.auditor import Auditor


@dataclass
class Listener:
    """Hears what happens from its making on, if it listens often enough."""

    history: History
    storage: Any
    auditor: Auditor = field(default_factory=Auditor)
    missed: int = 0
    _heard: int = field(init=False)

    def __post_init__(self) -> None:
        self._heard = self.history.since().next

    def listen(self) -> None:
        page = self.history.since(self._heard)
        self._heard = page.next
        self.missed += page.dropped
        self.auditor.hear(page.records)

    def verdict(self) -> Iterator[str]:
        self.listen()
        if self.missed:
            yield f"{self.missed} records were gone before the auditor heard of them"
        yield from self.auditor.verdict(read=self._content)

    def _content(self, name: str) -> bytes:
        content: bytes = self.storage.bucket(BUCKET).blob(name).download_as_bytes()
        return content
