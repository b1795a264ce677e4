"""Which process group holds the other end of a connection: the kernel tells, in /proc. Other systems have no such file.

Only the given group is ever looked at, so that nobody is found whom the platform has not started.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.faults.callers import Connection

PROC: Final = Path("/proc")
TABLES: Final = (PROC / "net" / "tcp", PROC / "net" / "tcp6")  # gRPC has IPv6 sockets, also for addresses that are not


def can_be_known() -> bool:
    return TABLES[0].exists()


def sockets_of(connection: Connection) -> set[str]:
    """The names of the caller's sockets; one, unless the connection is gone."""
    ends = [connection.port, connection.to]
    rows = [line.split() for table in TABLES if table.exists() for line in table.read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if [int(end.rpartition(":")[2], 16) for end in row[1:3]] == ends}


def holds(group: int, sockets: set[str]) -> bool:
    return any(name in sockets for member in _members(group) for name in _open_files(member))


def _members(group: int) -> Iterator[Path]:
    for process in PROC.glob("[0-9]*"):
        try:
            told = (process / "stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        if int(told.rpartition(")")[2].split()[2]) == group:  # its name, in brackets, may hold anything
            yield process


def _open_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield str(file.readlink())
    except OSError:
        return  # it has ended, or closed what we were about to look at
