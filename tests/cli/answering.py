"""A server that answers with what it is given, page by page, and remembers what it was asked."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answering:
    url: str
    asked: list[tuple[str, Any]] = field(default_factory=list)


@contextmanager
def answering(pages: Sequence[dict[str, Any]], code: int = 200) -> Iterator[Answering]:
    left = list(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            there.asked.append((self.path, json.loads(self.rfile.read(length) or "null")))
            body = json.dumps(left.pop(0)).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name is the server's

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        there = Answering(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield there
        server.shutdown()
