"""Who makes the call that is being answered: a kill has to find its victim.

A server knows a caller by the two ends of its connection, and whoever runs the functions knows which of them holds that
end. The server notes the connection for as long as it answers the call; nobody looks it up unless a kill is planned.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple


class Connection(NamedTuple):
    """A connection on the loopback: the caller's port, and the port that it has called."""

    port: int
    to: int


@dataclass(frozen=True, slots=True)
class Caller:
    """A process that may be killed: its name, and how."""

    name: str
    kill: Callable[[], None]


Register = Callable[[Connection], Caller | None]  # none: whoever that is, it is not to be killed

_origin: ContextVar[Callable[[], Connection | None]] = ContextVar("origin", default=lambda: None)


@contextmanager
def called_from(origin: Callable[[], Connection | None]) -> Iterator[None]:
    """The body answers a call that came from there; `origin` is asked when somebody wants to know."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def connection() -> Connection | None:
    """Where the call that is being answered here came from; none when it came from nowhere outside."""
    return _origin.get()()
