"""Who listens where."""

import socket


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def a_free_base(size: int = 12) -> int:
    """The first of some free ports in a row."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base = int(probe.getsockname()[1])
        if base + size < 65_536 and not any(listening(base + offset) for offset in range(size)):
            return base
