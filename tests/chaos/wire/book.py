"""What happened on the platform, read from its history file as it grows: the file goes on when the platform is killed.

The arena asks here how far each run has come, so that watching costs the platform nothing; an auditor reads it all.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.transitions import FINISHED, Document

LOOK = 0.02  # seconds between two looks
RUNS = "flow_runs/"


@dataclass(frozen=True, slots=True)
class Told:
    """A line of the history."""

    sequence: int
    time: float
    kind: str
    service: str
    method: str
    resource: str
    detail: Mapping[str, Any]


@dataclass(slots=True)
class Life:
    """A run, as far as it is known."""

    document: Document = field(default_factory=dict)
    writes: int = 0
    created: int = 0

    @property
    def over(self) -> bool:
        steps = self.document.get("steps", {}).values()
        return self.document.get("status") in FINISHED and all(step["status"] != "RUNNING" for step in steps)


class Book:
    """Every record from its making on."""

    def __init__(self, path: Path) -> None:
        self.records: list[Told] = []
        self.runs: dict[str, Life] = {}
        self.lives = 1  # of the platform: the names of its faults begin anew with each
        self.fired: Counter[tuple[int, str]] = Counter()  # how often, by life and name of a fault
        self._path = path
        self._read_to = path.stat().st_size
        self._ended = threading.Event()
        self._failed: Exception | None = None  # whoever waits for what is never read must not wait for ever

    @contextmanager
    def open(self) -> Iterator[Book]:
        thread = threading.Thread(target=self._read, name="book", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def catch_up(self) -> None:
        """Returns when all has been read that is in the file by now."""
        written = self._path.stat().st_size
        while self._read_to < written:
            if self._failed:
                raise RuntimeError("the history cannot be read") from self._failed
            time.sleep(LOOK)

    def so_far(self) -> list[Told]:
        """Every record that is in the file by now."""
        self.catch_up()
        return list(self.records)

    def life(self, run_id: str) -> Life:
        return self.runs.get(run_id) or Life()

    def _read(self) -> None:
        try:
            self._follow()
        except Exception as failure:  # noqa: BLE001 - whatever it is: for whoever asks next
            self._failed = failure

    def _follow(self) -> None:
        with self._path.open("rb") as file:
            while not self._ended.wait(LOOK):
                file.seek(self._read_to)
                whole = file.read().rpartition(b"\n")[0]  # half a line is cut off when the platform comes back
                for line in whole.splitlines():
                    self._hear(Told(**json.loads(line)))
                self._read_to += len(whole) + bool(whole)

    def _hear(self, told: Told) -> None:
        if "fault" in told.detail:
            self.fired[self.lives, told.detail["fault"]] += 1
        if told.kind == "write" and told.resource.startswith(RUNS) and told.detail["after"]:
            life = self.runs.setdefault(told.resource.removeprefix(RUNS), Life())
            life.document = told.detail["after"]
            life.writes += 1
            life.created += told.detail["before"] is None
        self.records.append(told)
