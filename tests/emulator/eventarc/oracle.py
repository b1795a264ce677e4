"""The official emulator with its own event delivery, which gcloud does not offer: its program is started directly."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.emulator.eventarc.receiver import Receiver, eventually
from tests.emulator.platform.sockets import a_free_base, listening

JAR = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


@contextmanager
def official_with_events(receiver: Receiver, project: str) -> Iterator[str]:
    """Its host, when it tells `receiver` of everything that is written in `runs`."""
    port = a_free_base(1)
    functions = receiver.url.removeprefix("http://")
    command = ["java", "-Duser.language=en", "-cp", str(_jar()), MAIN, "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--functions_emulator", functions],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert eventually(lambda: listening(port), 60)
        _subscribe(port, project)
        yield f"127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _subscribe(port: int, project: str) -> None:
    trigger = {
        "eventType": "google.cloud.firestore.document.v1.written",
        "database": "(default)",
        "namespace": "(default)",
        "document": {"value": "runs/{id}", "matchType": "PATH_PATTERN"},
    }
    url = f"http://127.0.0.1:{port}/emulator/v1/projects/{project}/eventarcTrigger?eventarcTriggerId=told"
    request = urllib.request.Request(url, json.dumps(trigger).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10):
        pass


def _jar() -> Path:
    gcloud = Path(shutil.which("gcloud") or "").resolve()
    places = [gcloud.parent.parent, Path("/usr/lib/google-cloud-sdk")]
    return next(place / JAR for place in places if (place / JAR).exists())
