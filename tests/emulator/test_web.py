"""The server under the services: quick, patient, on the loopback only, and able to break off."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from emulator.faults import Disconnected
from emulator.web import Reply, Request, Server


@contextmanager
def serving(port: int = 0) -> Iterator[Server]:
    server = Server(echo, port).start()
    try:
        yield server
    finally:
        server.stop()


def echo(request: Request) -> Reply:
    match request.path:
        case "/drop":
            raise Disconnected
        case "/reset":
            raise Disconnected(refused=True)
        case "/stream":
            return Reply(200, iter([b"one ", b"two ", b"three"]))
        case "/nothing":
            return Reply(204)
        case "/cut":
            return Reply(200, b"0123456789", cut=4)
        case "/bug":
            raise KeyError("say")
    return Reply(200, request.body or request.method.encode())


def test_listens_on_the_loopback_only() -> None:
    with serving() as server:
        assert server._http.server_address[0] == "127.0.0.1"


def test_connection_is_kept_for_the_next_request_and_no_reply_waits() -> None:
    with serving() as server, requests.Session() as session:
        session.get(server.url, timeout=5)
        started = time.monotonic()
        for _ in range(50):
            assert session.post(server.url, data=b"x", timeout=5).content == b"x"
        assert time.monotonic() - started < 50 * 0.03, "forty milliseconds each: a reply is sent in two writes"
        assert session.get(f"{server.url}/nothing", timeout=5).content == b""
        assert session.get(f"{server.url}/stream", timeout=5).content == b"one two three"
        assert session.head(server.url, timeout=5).headers["Content-Length"] == "4"
        assert session.get(server.url, timeout=5).content == b"GET"
        assert len(server._http._open) == 1


def test_a_bug_is_not_taken_for_weather(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server, requests.Session() as session:
        reply = session.get(f"{server.url}/bug", timeout=5)
        assert reply.status_code == 500
        assert reply.json()["error"] == {"code": 500, "status": "INTERNAL", "message": "a bug here: KeyError: 'say'"}
        assert session.get(server.url, timeout=5).ok
    assert "Traceback" in capsys.readouterr().err


def test_ends_of_a_connection_can_be_told_apart() -> None:
    with serving() as server:
        with pytest.raises(requests.ConnectionError, match="Remote end closed connection"):
            requests.get(f"{server.url}/drop", timeout=5)
        with pytest.raises(requests.ConnectionError, match="Connection reset"):
            requests.get(f"{server.url}/reset", timeout=5)
        with pytest.raises(requests.exceptions.ChunkedEncodingError, match="4 bytes read, 6 more expected"):
            requests.get(f"{server.url}/cut", timeout=5)


@pytest.mark.parametrize("length", ["Content-Length: ten", "Transfer-Encoding: chunked"])
def test_body_without_a_sensible_length_is_a_bad_request(length: str) -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\nzz\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("head", ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n"])
def test_half_of_a_body_never_reaches_the_service(head: str) -> None:
    asked: list[Request] = []

    def taken(request: Request) -> Reply:
        asked.append(request)
        return Reply()

    server = Server(taken).start()
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{head}only this".encode())
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    server.stop()
    assert asked == []


def test_header_values_stay_on_their_line() -> None:
    server = Server(lambda _: Reply(200, b"", {"X-Odd": "a\r\nX-Other: b", "X-Far": "日本"})).start()
    reply = requests.get(server.url, timeout=5)
    server.stop()
    assert reply.headers["X-Odd"] == "a X-Other: b"
    assert "X-Other" not in reply.headers


def test_port_in_use_is_an_error_at_once_and_free_again_after_a_stop() -> None:
    with serving() as server:
        port = server.port
        with pytest.raises(OSError, match="in use"):
            Server(echo, port)
    with serving(port) as again:
        assert requests.get(again.url, timeout=5).content == b"GET"


def test_stop_hangs_up() -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(100)
        server.stop()
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    "line", [b"GET /v1?key=secret HTTP/9.9\r\n\r\n", b"\x1b[2Jsecret \x00 HTTP/1.1 x y\r\n\r\n", b"secret\xff\r\n\r\n"]
)
def test_what_cannot_be_read_is_not_repeated(line: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """A terminal would act on it, and a query may hold a key."""
    with serving() as server, socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(line)
        answer = connection.makefile("rb").read()
    assert b" 400 " in answer or b" 505 " in answer or b"Error code: 400" in answer
    assert capfd.readouterr().err == ""
