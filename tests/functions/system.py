"""The whole system in one process: the platform's services, real events, and the functions under functions-framework.

A test writes a run document with the Firestore client and looks at what came of it. Only time is ours: waiting takes
none, and `later` moves everybody's clock.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from functions_framework import create_app
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from emulator.eventarc import Kind, Subscription
from emulator.faults import Faults
from emulator.platform import Platform
from flowcore import runtime
from flowcore.adapters.cloud_log import JsonLog

FUNCTIONS = Path(__file__).parents[2] / "functions"
HTTP = ("sweep", "start_flow")
BUCKET = "artifacts"
SETTLED_WITHIN = 30.0
make_app: Any = create_app  # it carries no types


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

    # --- the world ---

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


@contextmanager
def hosted(platform: Platform) -> Iterator[System]:
    """Every function of the project, in this process, subscribed to the platform's events."""
    clock = HurriedClock()
    lines: list[str] = []
    log = JsonLog(lines.append, clock.now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARTIFACTS_BUCKET", BUCKET)
        patch.setattr(runtime, "clock", lambda: clock)
        patch.setattr(runtime, "log", lambda: log)
        names = sorted(main.parent.name for main in FUNCTIONS.glob("*/main.py"))
        apps = {f"/{name}": _app(name) for name in names}
        server = make_server("127.0.0.1", 0, DispatcherMiddleware(NotFound(), apps), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        for name in names:
            if name not in HTTP:
                platform.eventarc.subscribe(
                    Subscription(name, f"{url}/{name}/", "flow_runs/{runId}", Kind.WRITTEN, platform.project)
                )
        try:
            yield System(platform, url, clock, lines)
        finally:
            server.shutdown()
            server.server_close()
            forget_wiring()


def _app(name: str) -> Any:
    return make_app(name, str(FUNCTIONS / name / "main.py"), "http" if name in HTTP else "cloudevent")


def _name(name_or_uri: str) -> str:
    return name_or_uri.removeprefix(f"gs://{BUCKET}/")
