"""One port for two protocols: each connection gets where it belongs, and the server can ask who is behind it."""

import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from google.cloud import firestore

from emulator.faults.callers import Connection
from emulator.firestore.front import Front
from emulator.firestore.server import FirestoreServer
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import at_once

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@pytest.fixture
def behind() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Where gRPC and HTTP are listened for."""
    with socket.create_server(("127.0.0.1", 0)) as grpc, socket.create_server(("127.0.0.1", 0)) as http:
        for listener in (grpc, http):
            listener.settimeout(5)
        yield grpc, http


@pytest.fixture
def front(behind: tuple[socket.socket, socket.socket]) -> Iterator[Front]:
    grpc, http = behind
    front = Front(0)
    front.start(grpc_port=grpc.getsockname()[1], http_port=http.getsockname()[1])
    yield front
    front.stop()


def called(front: Front, *pieces: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", front.port), timeout=5)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in pieces:
        client.sendall(piece)
    return client


@pytest.mark.parametrize(
    ("pieces", "place"),
    [
        ([PREFACE], 0),
        ([b"P", b"R", PREFACE[2:]], 0),
        ([b"GET / HTTP/1.1\r\n\r\n"], 1),
        ([b"PROPFIND / HTTP/1.1\r\n\r\n"], 1),
        ([b"DELETE /emulator/v1/projects/p HTTP/1.1\r\n\r\n"], 1),
    ],
    ids=["gRPC", "gRPC in pieces", "GET", "PROPFIND", "DELETE"],
)
def test_a_connection_goes_where_its_first_bytes_belong(
    front: Front, behind: tuple[socket.socket, socket.socket], pieces: list[bytes], place: int
) -> None:
    with called(front, *pieces) as client, behind[place].accept()[0] as server:
        said = b"".join(pieces)
        assert server.recv(len(said), socket.MSG_WAITALL) == said
        server.sendall(b"answer")
        assert client.recv(100) == b"answer"


def test_much_is_carried_both_ways_at_once(front: Front, behind: tuple[socket.socket, socket.socket]) -> None:
    much = PREFACE + random.Random(1).randbytes(5_000_000)
    arrived: dict[str, bytes] = {}

    def receive(name: str, reader: socket.socket) -> None:
        with reader.makefile("rb") as file:
            arrived[name] = file.read(len(much))

    with called(front) as client:
        client.sendall(much[:10])
        with behind[0].accept()[0] as server:
            at_once(
                lambda: client.sendall(much[10:]),
                lambda: server.sendall(much),
                lambda: receive("at the server", server),
                lambda: receive("at the client", client),
            )
    assert arrived == {"at the server": much, "at the client": much}


def test_the_end_of_one_side_is_the_end_of_the_other(front: Front, behind: tuple[socket.socket, socket.socket]) -> None:
    with called(front, PREFACE) as client, behind[0].accept()[0] as server:
        server.recv(100)
        client.close()
        assert server.recv(100) == b""
    with called(front, PREFACE) as client, behind[0].accept()[0] as server:
        server.recv(100)
        server.close()
        assert client.recv(100) == b""


def test_the_client_behind_a_connection_is_known_while_it_lasts(
    front: Front, behind: tuple[socket.socket, socket.socket]
) -> None:
    with called(front, PREFACE) as client:
        server, (_, seen) = behind[0].accept()
        with server:
            server.recv(1)  # nothing is carried before the client is known
            assert front.origin(seen) == Connection(client.getsockname()[1], front.port)
            assert front.origin(1) is None
            client.close()
            assert eventually(lambda: front.origin(seen) is None)


def test_after_its_end_nobody_is_connected(behind: tuple[socket.socket, socket.socket]) -> None:
    grpc, http = behind
    front = Front(0)
    front.start(grpc_port=grpc.getsockname()[1], http_port=http.getsockname()[1])
    with called(front, PREFACE) as client, grpc.accept()[0]:
        front.stop()
        assert front.origin(1) is None
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        called(front)


def test_the_clear_endpoint_is_where_the_client_library_is(server: FirestoreServer, ours: firestore.Client) -> None:
    ours.document("runs/r1").set({"n": 1})
    url = f"http://{server.host}/emulator/v1/projects/{ours.project}/databases/(default)/documents"
    requests.delete(url, timeout=5).raise_for_status()
    assert not ours.document("runs/r1").get().exists
    assert requests.get(f"http://{server.host}/", timeout=5).text == "Ok\n"


def test_a_killed_server_lets_go_of_its_port() -> None:
    command = [sys.executable, "-m", "emulator.firestore", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().strip().rpartition(":")[2])
        assert not _free(port)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert eventually(lambda: _free(port))


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
