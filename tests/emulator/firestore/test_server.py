"""The server as a program and as an object: ports, the clear endpoint, and what is written about it."""

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from google.api_core.exceptions import ServiceUnavailable
from google.cloud import firestore

from emulator.firestore import server as module
from emulator.firestore.server import FirestoreServer
from emulator.web import PortTaken
from tests.emulator.firestore.client import connected, fields_of
from tests.emulator.firestore.stub import stub

HERE = Path(__file__).parent
PACKAGE = Path(module.__file__).parent


def test_a_port_that_is_taken_is_a_clear_error(server: FirestoreServer) -> None:
    with pytest.raises(PortTaken, match=str(server.port)):
        FirestoreServer(server.port)


def test_it_is_told_apart_from_other_http(server: FirestoreServer) -> None:
    assert requests.get(f"http://{server.host}", timeout=5).text == "Ok\n"
    assert requests.delete(f"http://{server.host}/emulator/v1/projects/p", timeout=5).status_code == 404
    assert requests.delete(f"http://{server.host}/emulator/v1/nonsense/documents", timeout=5).status_code == 400


def test_faults_are_planned_and_calls_are_counted_by_http(server: FirestoreServer, ours: firestore.Client) -> None:
    wish = {"service": "firestore", "method": "Commit", "action": {"status": 503}, "times": 1}
    requests.post(f"http://{server.host}/__faults", json=wish, timeout=5).raise_for_status()
    with pytest.raises(ServiceUnavailable):
        ours.document("runs/by-http").set({"n": 1}, retry=None)
    (told,) = requests.get(f"http://{server.host}/__faults", timeout=5).json()["faults"]
    requests.delete(f"http://{server.host}/__faults", timeout=5).raise_for_status()
    calls = requests.get(f"http://{server.host}/__calls", timeout=5).json()["calls"]
    assert told["fired"] == 1
    assert {"service": "firestore", "method": "Commit", "resource": "runs/by-http", "count": 1} in calls


def test_it_stops_and_lets_go_of_its_port() -> None:
    first = FirestoreServer().start()
    with connected(first.host, "p") as db:
        watch: Any = db.collection("a").on_snapshot(lambda *_: None)
        db.document("a/b").set({"n": 1})
        first.stop()
        second = FirestoreServer(first.port).start()
        assert not db.document("a/b").get().exists
        watch.unsubscribe()
    second.stop()


def test_it_stops_although_it_was_told_what_nobody_can_read() -> None:
    server = FirestoreServer().start()
    codes = set()
    with grpc.insecure_channel(server.host) as channel:
        listen: Any = channel.stream_stream("/google.firestore.v1.Firestore/Listen")
        for _ in range(100):
            with pytest.raises(grpc.RpcError) as refused:
                list(listen(iter([b"\x0a\xff"]), timeout=10))
            codes.add(refused.value.code())
    assert codes == {grpc.StatusCode.INVALID_ARGUMENT}
    stopping = threading.Thread(target=server.stop, daemon=True)
    stopping.start()
    stopping.join(10)
    assert not stopping.is_alive()


def test_the_program_says_where_it_is_and_ends_when_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emulator.firestore", "--port", "0", "--data-dir", str(tmp_path)]
    for turn in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            variable, _, host = process.stdout.readline().strip().removeprefix("export ").partition("=")
            assert variable == "FIRESTORE_EMULATOR_HOST"
            with connected(host, "p") as db:
                assert fields_of(db.document("a/b")) == ({"n": 1} if turn else None)
                db.document("a/b").set({"n": 1})
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0


def test_every_difference_is_written_down() -> None:
    headings = set(re.findall(r"^## (.+)$", (PACKAGE / "DIFFERENCES.md").read_text(), re.MULTILINE))
    marked = {
        heading
        for file in HERE.glob("test_*.py")
        for heading in re.findall(r'^@pytest\.mark\.differs\("(.+)"\)$', file.read_text(), re.MULTILINE)
    }
    assert marked
    assert marked <= headings


def test_the_stub_says_what_the_messages_are() -> None:
    kept = (PACKAGE / "wire.pyi").read_text()
    assert re.sub(r"[\s,]", "", kept) == re.sub(r"[\s,]", "", stub())
