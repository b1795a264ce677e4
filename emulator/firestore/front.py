"""The public port, where gRPC and HTTP are told apart by the `relay`: gRPC's server cannot speak HTTP/1.1 itself."""

import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from emulator.faults.callers import Connection
from emulator.web import LOOPBACK, PortTaken

RELAY: Final = Path(__file__).with_name("relay.py")
BACKLOG: Final = 512


class Front:
    """Takes its port when it is made, and connections from then on; they are carried on after `start`."""

    def __init__(self, port: int) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((LOOPBACK, port))
        except OSError as error:
            self._listener.close()
            raise PortTaken(port, error.strerror or str(error)) from error
        self._listener.listen(BACKLOG)
        self.port: Final = int(self._listener.getsockname()[1])
        self._relay: subprocess.Popen[str] | None = None
        self._asking = threading.Lock()

    def start(self, *, grpc_port: int, http_port: int) -> None:
        descriptor = self._listener.fileno()
        self._relay = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(RELAY), str(descriptor), str(grpc_port), str(http_port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            pass_fds=[descriptor],
            start_new_session=True,  # or Ctrl-C would end it first
        )
        self._listener.close()  # the relay has it now, and it ends with the relay

    def origin(self, port: int) -> Connection | None:
        """The client behind a connection that comes from the relay's port."""
        with self._asking:
            if not (self._relay and self._relay.stdin and self._relay.stdout):
                return None
            self._relay.stdin.write(f"{port}\n")
            found = int(self._relay.stdout.readline() or 0)
        return Connection(port=found, to=self.port) if found else None

    def stop(self) -> None:
        """Listen no more, and hang up on everybody."""
        self._listener.close()
        with self._asking:
            relay, self._relay = self._relay, None
        if relay:
            relay.kill()
            relay.communicate()
