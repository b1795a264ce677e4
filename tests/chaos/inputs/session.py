"""A system for bad input: the platform, the functions under functions-framework, and what is watched over."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.firestore import DocumentReference

from emulator.platform import Platform
from flowcore.cli import project
from tests.chaos.inputs import verdict
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.functions.hosting import hosted
from tests.functions.system import System, forget_wiring

ROUNDS: Final = 40


@contextmanager
def a_system() -> Iterator[System]:
    """A platform and functions of its own, whoever else has some in this process."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    for function in project.functions():  # what the framework cannot read it tells at length, under the target's name
        logging.getLogger(function.name).setLevel(logging.CRITICAL)
    forget_wiring()
    with Platform(time_scale=1000.0) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        with hosted(platform) as system:
            yield system


@dataclass
class Session:
    """A system that is cleaned between the cases. It counts what has reached it, what of that was odd, and what came
    of it.
    """

    system: System
    delivered: int = 0
    odd: int = 0
    endings: Counter[str] = field(default_factory=Counter)

    def count(self, *, odd: bool) -> None:
        self.delivered += 1
        self.odd += odd

    def renew(self, stage: Stage | None = None) -> None:
        self.system.platform.reset()
        self.system.renew()
        for path, fields in (stage or _furnished()).shelf.fields.items():
            self.system.put(path, self.storable(fields))
        for name, (stored, content) in (stage or _furnished()).artifacts.objects.items():
            self.system.put_object(name, content, metadata=stored.metadata)
        self.system.settle()
        self.system.faults.history.clear()

    def storable(self, value: Any) -> Any:
        """The same with references that belong to this client."""
        if isinstance(value, DocumentReference):
            return self.system.db.document(*value._path)
        if isinstance(value, Mapping):
            return {key: self.storable(item) for key, item in value.items()}
        return [self.storable(item) for item in value] if isinstance(value, list) else value

    def written(self, run_id: str, document: Mapping[str, Any]) -> bool:
        """Whether Firestore, or its client, took it."""
        try:
            self.system.db.collection("flow_runs").document(run_id).set(self.storable(document))
        except (GoogleAPICallError, ValueError, TypeError):
            return False
        return True

    def played_out(self, before: Mapping[str, Mapping[str, Any]]) -> None:
        """Until every run is at its end, or time should have brought it there; `before`: as strangers wrote them."""
        self.system.settle()
        for number in range(ROUNDS):
            if not any(any(verdict.of_run(run_id, old, self.document(run_id))) for run_id, old in before.items()):
                return
            self.system.later(301 if number < 20 else 90 * 86_400)
            self.system.sweep(every_run=number % 4 == 0)

    def document(self, run_id: str) -> dict[str, Any]:
        found = self.system.db.collection("flow_runs").document(run_id).get().to_dict()
        return found or {}

    def judged(self, run_id: str, before: Mapping[str, Any]) -> Iterator[str]:
        after = self.document(run_id)
        self.endings[verdict.ending(before, after)] += 1
        yield from verdict.of_run(run_id, before, after)

    def broken(self, run_ids: list[str], stored_before: set[str]) -> Iterator[str]:
        """What the platform and the log have seen that should not have been."""
        lines = ((line["event"], {**line, "exc_info": line.get("exc_info")}) for line in self.system.logs)
        yield from verdict.of_log(lines)
        for note in self.system.faults.history.of("event"):
            if note.detail["outcome"] != "delivered" and "512 KB" not in note.detail["outcome"]:
                yield f"an event was answered with {note.detail['outcome']!r:.80} by {note.method}"
        for record in self.system.faults.history.of("write", service="firestore"):
            if record.resource.removeprefix("flow_runs/") not in run_ids:
                yield f"a write outside of the run: {record.resource!r:.80}"
        for name in set(self.system.objects()) - stored_before:
            owners = [run_id for run_id in run_ids if name.startswith((f"runs/{run_id}/", f"charts/{run_id}/"))]
            if not owners:
                yield f"an object outside of the run: {name!r:.80}"


def _furnished() -> Stage:
    stage = Stage()
    prepared(stage)
    return stage
