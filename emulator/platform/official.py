"""The official Firestore emulator as the store, where gcloud has brought one along.

Its own delivery of events is not the cloud's: base64 that calls itself protobuf, events for writes that change nothing,
no second attempt. So it is only asked what has changed. One trigger tells us of every document, and what it tells,
corrected, is a feed like that of our own Firestore: from there on events are Eventarc's, with its retries, faults and
dead letters.

What our own can do and this one cannot: faults and counters (nobody stands between it and its clients), a data
directory, events of databases other than the project's default one, and `settled` is only sure of what it was told.
"""

import base64
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from google.events.cloud.firestore import DocumentEventData

from emulator.firestore import audit, paths
from emulator.firestore.changes import Change, Commit, Feed
from emulator.firestore.wire import Document
from emulator.history import History
from emulator.platform.errors import PlatformFailed
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.process import Process, Program
from emulator.web import LOOPBACK, Reply, Request, Server

PROGRAM: Final = Path("platform/cloud-firestore-emulator/cloud_firestore_emulator")
READY_WITHIN: Final = 60.0  # seconds; a Java machine takes its time when others want it too
SHORT_LIFE: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # soon at work, on few cores: twice as fast for tests
FOREVER: Final = 2**63
TRIGGER: Final = {
    "eventType": "google.cloud.firestore.document.v1.written",
    "database": "(default)",
    "namespace": "(default)",
    "document": {"value": "{document=**}", "matchType": "PATH_PATTERN"},
}
_Data: Final[Any] = DocumentEventData.pb()


def program() -> Path:
    """Where the emulator is; fails with what to do when there is none."""
    gcloud = shutil.which("gcloud")
    if not gcloud:
        raise PlatformFailed("--firestore=official needs gcloud, which is not on the PATH; leave it out to use ours")
    found = Path(gcloud).resolve().parent.parent / PROGRAM
    if not found.exists():
        asked = [gcloud, "info", "--format=value(installation.sdk_root)"]
        root = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
        found = Path(root) / PROGRAM
    if not found.exists():
        raise PlatformFailed("gcloud has no Firestore emulator: gcloud components install cloud-firestore-emulator")
    if not shutil.which("java"):
        raise PlatformFailed("the official Firestore emulator needs java, which is not on the PATH")
    return found


class OfficialFirestore:
    """The official emulator on a port, and the feed of what changes in one project of it."""

    def __init__(self, project: str, port: int, history: History, log: Log, guard: Guardian) -> None:
        self.port: Final = port
        self._project = project
        self._history = history
        self._log = log
        self._guard = guard
        self._feed = Feed()
        self._lock = threading.Lock()
        self._cleared = 0  # in microseconds: of what was written before, nobody wants to hear any more
        self._parts = ExitStack()

    @property
    def host(self) -> str:
        """The value of FIRESTORE_EMULATOR_HOST."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def sequence(self) -> int:
        with self._lock:
            return self._feed.sequence

    def subscribe(self, callback: Callable[[Commit], None], after: int | None = None) -> Callable[[], None]:
        with self._lock:
            return self._feed.subscribe(callback, after)

    def start(self) -> "OfficialFirestore":
        command = [str(program()), "--host", LOOPBACK, "--port", str(self.port)]
        ear = Server(self._told).start()
        self._parts.callback(ear.stop)
        command += ["--functions_emulator", f"{LOOPBACK}:{ear.port}"]
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": f"{SHORT_LIFE} {os.environ.get('JAVA_TOOL_OPTIONS', '')}"}
        emulator = Program("firestore", self.port, command, Path.cwd(), environment, kept_alive=False)
        process = Process(emulator, self._log, self._guard)
        self._parts.callback(process.stop)
        process.await_health(READY_WITHIN)
        self._ask("POST", f"projects/{self._project}/eventarcTrigger?eventarcTriggerId=platform", TRIGGER)
        return self

    def stop(self) -> None:
        self._parts.close()

    def clear_all(self) -> None:
        """The project's default database. What it tells of that, or still has to tell of the past, is not heard."""
        self._cleared = FOREVER
        self._ask("DELETE", f"projects/{self._project}/databases/(default)/documents")
        self._cleared = _now()

    def _ask(self, method: str, path: str, body: object = None) -> None:
        data = json.dumps(body).encode() if body else None
        url = f"http://{self.host}/emulator/v1/{path}"
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - it is ours, on the loopback
            pass

    # --- what it tells ---------------------------------------------------------------------------------------

    def _told(self, request: Request) -> Reply:
        data = _Data.FromString(base64.b64decode(request.body))
        with self._lock:
            change = _change(data, self._feed.sequence + 1)
            if change and max(_written(change.before), _written(change.after)) > self._cleared:
                commit = Commit(paths.database_of(change.name), change.time, (change,))
                audit.record(commit, self._history)
                self._feed.publish(commit)
        return Reply(204)


def _change(data: Any, sequence: int) -> Change | None:
    """What an event tells; none when nothing has changed. A deletion has no time: it is when we hear of it."""
    before, after = (_document(data, side) for side in ("old_value", "value"))
    found = after if after is not None else before
    if found is None:
        return None
    moment = _written(after) if after is not None else _now()
    change = Change(sequence, moment, found.name, before, after)
    return None if before is not None and after is not None and not change.mask else change


def _document(data: Any, side: str) -> Document | None:
    """Firestore's documents and those of its events are two types with one encoding."""
    return Document.FromString(getattr(data, side).SerializeToString()) if data.HasField(side) else None


def _written(document: Document | None) -> int:
    return document.update_time.ToMicroseconds() if document is not None else 0


def _now() -> int:
    return time.time_ns() // 1_000
