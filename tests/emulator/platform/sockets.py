"""Who listens where."""

import random
import socket


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def bound(port: int) -> socket.socket:
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what an earlier test has left half-closed is free
    try:
        taken.bind(("127.0.0.1", port))
    except OSError:
        taken.close()
        raise
    return taken


def a_free_base(size: int = 12) -> int:
    """The first of some free ports in a row, from where no system takes the ports of its connections."""
    while True:
        base = random.SystemRandom().randrange(20_000, 30_000)
        try:
            for port in range(base, base + size):
                bound(port).close()
        except OSError:
            continue
        return base
