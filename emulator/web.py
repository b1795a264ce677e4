"""A threaded HTTP/1.1 server for the services that speak JSON: it carries requests and replies, and knows no service.

Three things make it a stand-in for the real front end. Each reply is one write, because a client that gets headers and
body in two packets waits some forty milliseconds for its own delayed acknowledgement. A service can end the connection
instead of answering, in the ways in which networks do. And it listens on the loopback only: it asks nobody for a key.
"""

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from emulator.faults import Disconnected
from emulator.faults.callers import Connection, called_from

LOOPBACK: Final = "127.0.0.1"
BODILESS: Final = frozenset({204, 304})
PIECE: Final = 2**20


@dataclass(frozen=True)
class Request:
    """What was asked. The path is still quoted: an object's name may hold a slash."""

    method: str
    target: str
    headers: Message
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        return urlsplit(self.target).path

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def host(self) -> str:
        return self.headers.get("Host", LOOPBACK)

    def json(self) -> Any:
        """The body as JSON, or ValueError."""
        try:
            return json.loads(self.body) if self.body else {}
        except RecursionError:
            raise ValueError("nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: a body, or pieces that are sent as they come; `cut` sends that many bytes and hangs up."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None

    @classmethod
    def json(cls, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> "Reply":
        kind = {"Content-Type": "application/json; charset=UTF-8"}
        # Half of a surrogate pair, which JSON can spell and UTF-8 cannot, goes out as it came: spelled.
        body = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return cls(status, body, kind | dict(headers or {}))


Service = Callable[[Request], Reply]


class PortTaken(OSError):
    """A port that cannot be listened on, and why."""

    def __init__(self, port: int, reason: str) -> None:
        super().__init__(f"port {port} on the loopback: {reason}")


class Server:
    """A service on a port, in threads of its own. Port 0 takes any free one."""

    def __init__(self, service: Service, port: int = 0) -> None:
        try:
            self._http = _Listener((LOOPBACK, port), service)
        except OSError as error:
            raise PortTaken(port, error.strerror or str(error)) from error
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> "Server":
        self._thread.start()
        return self

    def stop(self) -> None:
        """Listen no more, and hang up on whoever is still connected. Also for one that was never started."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()
        self._http.hang_up()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        self.service = service
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        with self._lock:
            remaining, self._open = self._open, set()
        for connection in remaining:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it hung up first

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is weather; anything else is a bug, and told on stderr, too."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        try:
            body = self._body()
        except ValueError:
            self._send(Reply(400, headers={"Connection": "close"}, cut=0))  # where its body ends, nobody knows
            return
        try:
            with called_from(self._origin):
                reply = self.server.service(Request(self.command, self.path, self.headers, body))
        except Disconnected as end:
            self._hang_up(reset=end.refused)
        except Exception as bug:  # noqa: BLE001 - whatever it is: a closed connection would look like weather
            self.server.handle_error(self.request, self.client_address)
            message = f"a bug here: {type(bug).__name__}: {bug}"
            self._send(Reply.json({"error": {"code": 500, "status": "INTERNAL", "message": message}}, 500))
        else:
            self._send(reply)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library calls it that
        """Nothing. What cannot be read may be anything, and what can may hold a key; the history knows every call."""

    def _origin(self) -> Connection:
        return Connection(port=self.client_address[1], to=self.server.server_port)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(iter(self._chunk, b""))
        return self._exactly(int(self.headers.get("Content-Length") or 0))

    def _chunk(self) -> bytes:
        data = self._exactly(int(self.rfile.readline().split(b";")[0], 16))
        self.rfile.readline()
        return data

    def _exactly(self, size: int) -> bytes:
        """Half of a body is no body: its sender went away, and a service must not take it for the whole."""
        if size < 0:
            raise ValueError(f"{size} is no length")
        pieces, missing = [], size
        while missing and (piece := self.rfile.read(min(missing, PIECE))):  # what is only announced takes no memory
            pieces.append(piece)
            missing -= len(piece)
        if missing:
            raise ConnectionAbortedError(f"{size} bytes were announced, {size - missing} came")
        return b"".join(pieces)

    def _send(self, reply: Reply) -> None:
        if isinstance(reply.body, bytes):
            head = self._head(reply, {} if reply.status in BODILESS else {"Content-Length": str(len(reply.body))})
            body = b"" if self.command == "HEAD" or reply.status in BODILESS else reply.body
            self.wfile.write(head + body[: reply.cut])
        else:
            self.wfile.write(self._head(reply, {"Transfer-Encoding": "chunked"}))
            for piece in reply.body:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        if reply.cut is not None:
            self.close_connection = True

    def _head(self, reply: Reply, length: Mapping[str, str]) -> bytes:
        fields = {"Date": self.date_time_string(), **reply.headers, **length}
        lines = [f"HTTP/1.1 {reply.status} {responses.get(reply.status, '')}"]
        lines += [f"{name}: {' '.join(value.splitlines())}" for name, value in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _hang_up(self, *, reset: bool) -> None:
        self.close_connection = True
        if reset:  # no lingering: the kernel answers with RST instead of an orderly end
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
