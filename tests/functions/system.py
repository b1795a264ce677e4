"""The whole system in one process: the platform's services, real events, and the functions under functions-framework.

A test writes a run document with the Firestore client and looks at what came of it. Only time is ours: waiting takes
none, and `later` moves everybody's clock.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.eventarc import Subscription
from emulator.eventarc.events import Event, event_of
from emulator.faults import Faults, Handle, delay
from emulator.firestore.changes import Change, Commit
from emulator.platform import Platform
from flowcore import runtime

BUCKET = "artifacts"
SETTLED_WITHIN = 30.0
HELD_FOR = 20.0  # seconds; whoever holds a call lets go of it long before


@dataclass(frozen=True)
class Write:
    """One write that changed a document, in plain JSON: as it was before, and as it is since."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class HurriedClock:
    """Real time, in which sleeping takes none: for the thread that slept, and for nobody else, it has passed."""

    def __init__(self) -> None:
        self._slept = threading.local()
        self.ahead = timedelta()
        self.naps: list[float] = []

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return time.monotonic() + float(getattr(self._slept, "seconds", 0.0))

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self._slept.seconds = getattr(self._slept, "seconds", 0.0) + seconds


@dataclass(frozen=True)
class Held:
    """A call that waits at a service's door."""

    fault: Handle

    def reached(self) -> None:
        """Wait until it is there."""
        wait_until(lambda: self.fault.fired > 0)


@dataclass
class System:
    platform: Platform
    url: str
    clock: HurriedClock
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.db = firestore.Client()
        self.storage = StorageClient()

    @property
    def faults(self) -> Faults:
        return self.platform.faults

    def calls(self, service: str, method: str = "*", resource: str = "*") -> int:
        return self.platform.faults.calls.count(service, method, resource)

    @property
    def logs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    # --- documents ---

    def put(self, path: str, fields: Mapping[str, object]) -> None:
        self.db.document(path).set(dict(fields))

    def get(self, path: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.db.document(path).get().to_dict()
        return found

    def start(self, document: Mapping[str, object]) -> str:
        """Write the run and wait until nothing moves any more."""
        run_id = str(document["runId"])
        self.put(f"flow_runs/{run_id}", document)
        self.settle()
        return run_id

    def settle(self) -> None:
        assert self.platform.settled(SETTLED_WITHIN), self.platform.eventarc.state

    def run(self, run_id: str) -> dict[str, Any]:
        found = self.get(f"flow_runs/{run_id}")
        assert found is not None, f"{run_id} is gone"
        return found

    def step(self, run_id: str, step_id: str) -> dict[str, Any]:
        step: dict[str, Any] = self.run(run_id)["steps"][step_id]
        return step

    def writes(self, run_id: str) -> list[Write]:
        """Every write of the run that changed it, whoever made it, the test's own included."""
        written = self.faults.history.of("write", service="firestore")
        mine = [record for record in written if record.resource == f"flow_runs/{run_id}"]
        return [Write(record.detail["before"], record.detail["after"]) for record in mine]

    # --- objects ---

    def object(self, name_or_uri: str) -> bytes | None:
        blob = self.bucket.get_blob(_name(name_or_uri))
        content: bytes | None = blob.download_as_bytes() if blob else None
        return content

    def objects(self) -> list[str]:
        return [blob.name for blob in self.bucket.list_blobs()]

    def put_object(
        self,
        name: str,
        content: bytes,
        content_type: str = "application/json",
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        blob = self.bucket.blob(_name(name))
        blob.metadata = dict(metadata or {})
        blob.upload_from_string(content, content_type)
        return f"gs://{BUCKET}/{blob.name}"

    @property
    def bucket(self) -> Any:
        return self.storage.bucket(BUCKET)

    # --- events ---

    def outcomes(self, function: str) -> list[str]:
        """What became of every attempt to deliver an event to the function."""
        return [note.detail["outcome"] for note in self.faults.history.of("event") if note.method == function]

    @contextmanager
    def recorded(self) -> Iterator[list[Change]]:
        """Every change of a document from now on, to be told of again with `deliver`."""
        changes: list[Change] = []

        def hear(commit: Commit) -> None:
            changes.extend(commit.changes)

        stop = self.platform.firestore.subscribe(hear)
        try:
            yield changes
        finally:
            stop()

    def deliver(self, change: Change, function: str, **attributes: str) -> requests.Response:
        """Tell one function of a change, past the broker; some attributes of the event may be others."""
        event: Event = event_of(change, Subscription(function, "", "flow_runs/{runId}"), location="nam5")
        headers = {**event.headers, **{f"ce-{name}": value for name, value in attributes.items()}}
        return self.call(function, data=event.body, headers=headers)

    # --- the world ---

    @contextmanager
    def holding(self, service: str, method: str, *, skip: int = 0) -> Iterator[Held]:
        """One call is held at the service's door, before it has any effect, until the block is left."""
        yield Held(self.faults.add(service=service, method=method, action=delay(HELD_FOR), times=1, skip=skip))
        self.faults.clear()  # which lets go of it
        self.settle()

    def later(self, seconds: float) -> None:
        """It is later now, for everybody."""
        self.clock.ahead += timedelta(seconds=seconds)

    def sweep(self, *, every_run: bool = False) -> dict[str, Any]:
        answer = self.call("sweep", params={"every_run": "true"} if every_run else None)
        self.settle()
        report: dict[str, Any] = answer.json()
        return report

    def call(self, function: str, **request: Any) -> requests.Response:
        return requests.post(f"{self.url}/{function}/", timeout=30, **request)

    @contextmanager
    def configured(self, **environ: str) -> Iterator[None]:
        """The functions as they would be with these variables."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            forget_wiring()
            try:
                yield
                self.settle()
            finally:
                patch.undo()
                forget_wiring()

    def renew(self) -> None:
        """What the last test left is gone; the platform itself is already clean."""
        self.lines.clear()
        self.clock.ahead = timedelta()
        self.clock.naps.clear()
        self.storage.create_bucket(BUCKET)
        self.platform.faults.calls.clear()
        self.platform.faults.history.clear()


def forget_wiring() -> None:
    """Everything that runtime made from the environment, except for time and the log, which are the test's."""
    for made in vars(runtime).values():
        if hasattr(made, "cache_clear"):
            made.cache_clear()


def wait_until(holds: Callable[[], bool], seconds: float = SETTLED_WITHIN) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it has not come to that"
        time.sleep(0.002)


def _name(name_or_uri: str) -> str:
    return name_or_uri.removeprefix(f"gs://{BUCKET}/")
