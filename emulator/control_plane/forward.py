"""Passing a request on to whoever really answers it, and the answer back."""

from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import urlsplit

from emulator.web import Reply, Request

_OURS: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding", "date", "server"})


class Unreachable(Exception):
    """Nobody answered; the message says why."""


def forward(request: Request, url: str, *, timeout: float) -> Reply:
    """`url` is the whole address, with the query."""
    target = urlsplit(url)
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OURS}
    connection = HTTPConnection(target.hostname or "", target.port, timeout=timeout)
    try:
        connection.request(
            request.method, target.path + (f"?{target.query}" if target.query else ""), request.body, headers
        )
        answer = connection.getresponse()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in _OURS}
        return Reply(answer.status, answer.read(), kept)
    except (OSError, HTTPException) as error:
        raise Unreachable(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
