"""What all services on HTTP share: a port, a life between `start` and `stop`, and a way to run as a program.

A service is made of an answer to each request and its faults; the rest is here. A package that serves one exports a
class that extends `HttpService`, and its `__main__` is a parser of options and `serve`.
"""

import signal
import sys
import threading
from collections.abc import Callable
from typing import Final, Self

from emulator import shell, web
from emulator.faults import Faults


class HttpService:
    """Alive between `start` and `stop`, or inside `with`. Port 0 takes any free one; a taken one is `PortTaken`."""

    def __init__(self, answer: web.Service, *, port: int, faults: Faults) -> None:
        self.faults: Final = faults
        self._server = web.Server(answer, port)

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> Self:
        self._server.start()
        return self

    def stop(self) -> None:
        """Calls that hang in a fault are let go first."""
        self.faults.clear()
        self._server.stop()

    def reset(self) -> None:
        """Forget what was stored or arranged, as though just started. For services that remember something."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(make: Callable[[], HttpService], variable: str) -> None:
    """Be the program of a service: print what to export, and end when asked to. A taken port is said in one line."""
    try:
        service = make()
    except web.PortTaken as taken:
        sys.exit(f"{taken}; choose another with --port")
    ended = asked_to_end()
    with service:
        sys.stdout.write(shell.exports({variable: service.url}))
        sys.stdout.flush()
        ended.wait()


def asked_to_end() -> threading.Event:
    """Set by Ctrl-C and by SIGTERM, from now on."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended
