"""A server that sends a byte now and then: never silent, and never done."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
# Where it is slow: what it sends at once, and what again and again.
TRICKLES = {
    "status line": (b"HTTP/1.1 2", b"0"),
    "headers": (HEAD, b"X-More: of the same\r\n"),
    "body": (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "body without an end": (HEAD + b"Connection: close\r\n\r\n", b" "),
}


@contextmanager
def trickling(manner: str, begins: bytes = b"") -> Iterator[str]:
    """Its address. It goes on for a few seconds, or until the other side hangs up; `begins` is how a body begins."""
    at_once, more = TRICKLES[manner]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.recv(65536)
                    connection.sendall(at_once + (begins if manner.startswith("body") else b""))
                    for _ in range(150):
                        connection.sendall(more)
                        time.sleep(0.02)
                except OSError:
                    return  # the other side hung up, as it should

        thread = threading.Thread(target=trickle)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=5)
