"""One port for two protocols: what begins like HTTP/2 is carried to the gRPC server, anything else to the HTTP server.

Runs as a program of its own, on the standard library alone: `relay.py FD GRPC_PORT HTTP_PORT`, where FD is a listening
socket. That is what measures best: it costs one client a twentieth of its calls per second. In the server's own process
it would wait its turn among the server's threads, and an event loop takes twice the time of two threads a connection.

The gRPC server sees the relay where it used to see its clients. So each line on the input is the port of one of the
relay's own connections to it, and is answered with the port of the client behind it, or 0. The end of the input is the
end.
"""

import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Final

PREFACE: Final = b"PRI"  # no method of HTTP/1 begins like this
MOST_BYTES: Final = 1 << 18  # carried at once


class Relay:
    """Carries every connection until one of its ends has enough."""

    def __init__(self, grpc_port: int, http_port: int) -> None:
        self.clients: Final[dict[int, int]] = {}  # by the port that gRPC's server sees; the other may see the same
        self._grpc_port = grpc_port
        self._http_port = http_port

    def accept(self, listener: socket.socket) -> None:
        while True:
            client, (_, port) = listener.accept()
            threading.Thread(target=self._serve, args=(client, port), daemon=True).start()

    def _serve(self, client: socket.socket, port: int) -> None:
        with client, suppress(OSError):
            first = client.recv(len(PREFACE), socket.MSG_PEEK | socket.MSG_WAITALL)
            is_grpc = first == PREFACE
            with socket.create_connection(("127.0.0.1", self._grpc_port if is_grpc else self._http_port)) as server:
                own = server.getsockname()[1]
                if is_grpc:
                    self.clients[own] = port
                back = threading.Thread(target=_carry, args=(server, client), daemon=True)
                back.start()
                _carry(client, server)
                back.join()
                if is_grpc:
                    del self.clients[own]


def _carry(source: socket.socket, target: socket.socket) -> None:
    target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    space = memoryview(bytearray(MOST_BYTES))
    with suppress(OSError):  # either end may go away at any time
        while size := source.recv_into(space):
            target.sendall(space[:size])
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def main() -> None:
    descriptor, grpc_port, http_port = map(int, sys.argv[1:])
    relay = Relay(grpc_port, http_port)
    threading.Thread(target=relay.accept, args=(socket.socket(fileno=descriptor),), daemon=True).start()
    for line in sys.stdin:
        sys.stdout.write(f"{relay.clients.get(int(line), 0)}\n")
        sys.stdout.flush()
    os._exit(0)  # at once: whoever is still connected is hung up on


if __name__ == "__main__":
    main()
