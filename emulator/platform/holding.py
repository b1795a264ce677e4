"""Which process group holds the other end of a connection: the kernel tells, in /proc. Other systems have no such file.

Only the given groups are ever looked at, so that nobody is found whom the platform has not started.
"""

from collections.abc import Collection, Iterator
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
    spelled = f":{connection.port:04X} "  # a busy platform has thousands of lines, most of them of yesterday's calls
    lines = [line for table in TABLES if table.exists() for line in table.read_text().splitlines()[1:]]
    rows = [line.split() for line in lines if spelled in line]
    return {f"socket:[{row[9]}]" for row in rows if [int(end.rpartition(":")[2], 16) for end in row[1:3]] == ends}


def holder_of(sockets: set[str], groups: Collection[int]) -> int | None:
    """The group of which one holds such a socket."""
    for group, process in _members(groups):
        if any(name in sockets for name in _open_files(process)):
            return group
    return None


def _members(groups: Collection[int]) -> Iterator[tuple[int, Path]]:
    for process in PROC.glob("[0-9]*"):
        try:
            told = (process / "stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        group = int(told.rpartition(")")[2].split()[2])  # its name, in brackets, may hold anything
        if group in groups:
            yield group, process


def _open_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield str(file.readlink())
    except OSError:
        return  # it has ended, or closed what we were about to look at
