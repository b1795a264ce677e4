"""Where each part listens: on the ports that follow a base, or on any that are free."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from emulator.platform.errors import PlatformFailed
from emulator.web import LOOPBACK, PortTaken

FIRESTORE: Final = 0
STORAGE: Final = 2
GEMINI: Final = 3
EVENTARC: Final = 4
BIGQUERY: Final = 5
CHART_IMG: Final = 6
FUNCTIONS: Final = 10  # the first of them


class PortBusy(PlatformFailed):
    """Somebody else listens where a part should."""


class Ports:
    """The port of each part, by its place after the base; 0, which is any, without one."""

    def __init__(self, base: int | None) -> None:
        self._base = base

    def __getitem__(self, place: int) -> int:
        return self._base + place if self._base is not None else 0

    @contextmanager
    def taking(self, place: int, part: str) -> Iterator[int]:
        """For a server that binds the port itself: a failure to do so gets the part's name."""
        port = self[place]
        try:
            yield port
        except PortTaken as taken:
            raise PortBusy(f"{part}: {taken}; choose another --port-base") from taken

    def for_process(self, place: int, part: str) -> int:
        """A port for a process that will bind it later, free now."""
        with self.taking(place, part) as port, socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError as error:
                raise PortTaken(port, error.strerror or str(error)) from error
            return int(probe.getsockname()[1])
