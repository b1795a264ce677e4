"""The official emulator, where gcloud has it: what it does is right, unless DIFFERENCES.md says otherwise."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWITCH = "FLOWCORE_ORACLE"


def why_absent() -> str | None:
    """Why the official emulator cannot be asked; none when it can."""
    if os.environ.get(SWITCH) != "1":
        return f"the official Firestore emulator is asked only with {SWITCH}=1"
    gcloud = shutil.which("gcloud")
    if not gcloud:
        return "no gcloud here: the official Firestore emulator is not asked"
    root = Path(gcloud).resolve().parent.parent
    places = [root / "platform", Path("/usr/lib/google-cloud-sdk/platform")]
    if not any((place / "cloud-firestore-emulator").exists() for place in places):
        return "gcloud has no Firestore emulator here (gcloud components install cloud-firestore-emulator)"
    return None


@contextmanager
def official() -> Iterator[str]:
    """The official emulator on a free port, as host:port."""
    host = f"127.0.0.1:{_free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            ["gcloud", "emulators", "firestore", "start", f"--host-port={host}", "--quiet"],
            env={**os.environ, "CLOUDSDK_CONFIG": folder},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for(f"http://{host}/", process)
            yield host
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # gcloud is a shell around a Java program: end both
            process.wait()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the official Firestore emulator did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
