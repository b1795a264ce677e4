"""Firestore on a port: gRPC for the client library, and HTTP for the calls that only emulators have.

DELETE /emulator/v1/projects/P/databases/D/documents      forget everything in a database
/__faults, /__calls, /__history                           as everywhere
GET /                                                     whether it is there
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import grpc

from emulator import web
from emulator.faults import Faults
from emulator.faults.http import answer, mounted
from emulator.firestore import audit, paths
from emulator.firestore.changes import Commit
from emulator.firestore.errors import Refused
from emulator.firestore.front import Front
from emulator.firestore.journal import Journal
from emulator.firestore.service import SERVICE, FirestoreService
from emulator.firestore.store import Store
from emulator.firestore.transactions import Transactions

THREADS: Final = 1024  # a listener holds one for as long as it lives; they are only made when needed
MOST_BYTES: Final = 11 * 1024 * 1024  # a request may have 10 MiB
CLEAR: Final = "/emulator/v1/"
PING_MS: Final = 5_000


class FirestoreServer:
    """A Firestore, alive between `start` and `stop`. Port 0 takes any free port."""

    def __init__(self, port: int = 0, *, data_dir: Path | None = None, faults: Faults | None = None) -> None:
        self.faults: Final = faults or Faults()
        with ExitStack() as taken:
            self._front = Front(port)
            taken.callback(self._front.stop)
            self.store: Final = Store(Journal(data_dir) if data_dir else None)
            taken.pop_all()
        self._web = web.Server(self._http)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=SERVICE)
        self._transactions = Transactions(self.store)
        self._grpc = grpc.server(
            self._threads,
            handlers=[FirestoreService(self._transactions, self.faults, self._front.origin)],
            options=[
                ("grpc.so_reuseport", 0),  # or "any free port" may be one that another server has
                ("grpc.max_receive_message_length", MOST_BYTES),
                ("grpc.max_send_message_length", -1),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", PING_MS),  # of clients that listen in silence
            ],
        )
        self._grpc_port = self._grpc.add_insecure_port(f"{web.LOOPBACK}:0")
        audit.follow(self.store.feed, self.faults.history)

    @property
    def port(self) -> int:
        return self._front.port

    @property
    def host(self) -> str:
        """The value of FIRESTORE_EMULATOR_HOST."""
        return f"{web.LOOPBACK}:{self.port}"

    @property
    def sequence(self) -> int:
        """The number of the newest change."""
        with self.store.lock:
            return self.store.feed.sequence

    def subscribe(self, callback: Callable[[Commit], None], after: int | None = None) -> Callable[[], None]:
        """Hear of every commit, in order, before its writer does. Returns how to stop."""
        with self.store.lock:
            return self.store.feed.subscribe(callback, after)

    def start(self) -> "FirestoreServer":
        self._grpc.start()
        self._web.start()
        self._front.start(grpc_port=self._grpc_port, http_port=self._web.port)
        return self

    def stop(self) -> None:
        """End every call at once, and let go of the port."""
        self._front.stop()
        self._web.stop()
        self._grpc.stop(grace=None).wait()
        self._threads.shutdown(wait=False)
        self.store.close()

    def clear(self, project: str, database: str = "(default)") -> None:
        self._transactions.clear(f"projects/{project}/databases/{database}")

    def clear_all(self) -> None:
        """Every database of every project, also those of an earlier life."""
        for database in self._transactions.databases:
            self._transactions.clear(database)

    def _http(self, request: web.Request) -> web.Reply:
        if mounted(request.path):
            face = answer(self.faults, request.method, request.path, request.query, request.body)
            return web.Reply.json(face.value, face.status)
        if request.method == "GET" and request.path == "/":
            return web.Reply(body=b"Ok\n")
        path = unquote(request.path)
        name = path.removeprefix(CLEAR)
        if request.method == "DELETE" and path.startswith(CLEAR) and name.endswith("/documents"):
            return self._cleared(name)
        return web.Reply.json({"error": {"code": 404, "message": f"no {request.method} {request.path}"}}, 404)

    def _cleared(self, name: str) -> web.Reply:
        try:
            self._transactions.clear(paths.database_of(name))
        except Refused as refused:
            return web.Reply.json({"error": {"code": 400, "message": refused.message}}, 400)
        return web.Reply.json({})
