"""Run documents as numbers: equal documents are one, so that a state is a small tuple and compares fast.

Two documents are equal here when the kernel cannot tell them apart. What is only for people to read (finished times,
recorded attempts, execution figures) is levelled; the token of a lease is replaced by a mark, because whose lease it
is belongs to the state of the world, not to the text of the document.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import T0

Document = dict[str, Any]
MINE, OTHER = "mine", "other"


@dataclass(slots=True)
class Documents:
    _by_text: dict[str, int] = field(default_factory=dict)
    _documents: list[Document] = field(default_factory=list)
    _runs: list[Run] = field(default_factory=list)

    def number(self, document: Mapping[str, object]) -> int:
        levelled = _levelled(document)
        text = json.dumps(levelled, sort_keys=True, default=str)
        found = self._by_text.get(text)
        if found is None:
            found = self._by_text[text] = len(self._documents)
            self._documents.append(levelled)
            self._runs.append(parse_run(Snapshot(RUN_ID, levelled, T0)))
        return found

    def run(self, number: int) -> Run:
        return self._runs[number]

    def raw(self, number: int) -> Document:
        return self._documents[number]

    def seen_by(self, number: int, mine: Collection[str]) -> Document:
        """The document with the leases of the reader's own steps under the reader's own token."""
        document = self._documents[number]
        steps = {
            name: {**step, "lease": {**step["lease"], "token": MINE if name in mine else OTHER}}
            if "lease" in step
            else step
            for name, step in document["steps"].items()
        }
        return {**document, "steps": steps}

    def __len__(self) -> int:
        return len(self._documents)


def _levelled(document: Mapping[str, Any]) -> Document:
    level = {key: value for key, value in document.items() if key != "updatedAt"}
    if "finishedAt" in level:
        level["finishedAt"] = _text(T0)
    level["steps"] = {name: _levelled_step(step) for name, step in document["steps"].items()}
    return level


def _levelled_step(step: Mapping[str, Any]) -> Document:
    status = step["status"]
    level = {key: value for key, value in step.items() if key != "attempts"}
    # Each time is kept only where a decision may look at it.
    for key, read_in in (("readyAt", "READY"), ("startedAt", "RUNNING"), ("finishedAt", "FAILED")):
        if key in level and status != read_in:
            level[key] = _text(T0)
    if "lease" in level:
        level["lease"] = {**level["lease"], "token": "*"}
    level["outputs"] = {key: value for key, value in level.get("outputs", {}).items() if key != "execution"}
    if "error" in level:
        level["error"] = {key: value for key, value in level["error"].items() if key in ("code", "retryable")}
    return level


def _text(moment: datetime) -> str:
    return moment.isoformat()
