"""HTTP that ends in time.

A timeout of `requests` counts the silence between two bytes, so a server that sends one now and then is never late, and
a read that is under way cannot be called off. What can be done is to cut the connection under it. So whoever needs an
end has a session of their own, and its connections are cut when the time is up.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_A_MOMENT = 0.1


@contextmanager
def punctual(session: requests.Session, seconds: float, silence: float) -> Iterator[None]:
    """All that the session does takes no longer than `seconds`, and it waits for no byte longer than `silence`.

    A `requests.Timeout`, or what else a connection that ends may bring, tells that the time was up.
    """
    adapter = _Punctual(seconds, silence)
    for scheme in ("https://", "http://"):
        session.mount(scheme, adapter)
    alarm = threading.Timer(seconds, adapter.cut)
    alarm.daemon = True
    alarm.start()
    try:
        yield
        adapter.check()  # a body that was cut may look like one that was complete
    finally:
        alarm.cancel()
        session.close()


class _Punctual(HTTPAdapter):
    def __init__(self, seconds: float, silence: float) -> None:
        self._ends = time.monotonic() + seconds
        self._silence = silence
        self._opened: list[socket.socket] = []
        self._cut = False
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        pools = {"http": HTTPConnectionPool, "https": HTTPSConnectionPool}
        self.poolmanager.pool_classes_by_scheme = {
            scheme: _noting(pool, self._opened) for scheme, pool in pools.items()
        }

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """However long the caller, or its SDK, would wait for it."""
        self.check()
        left = max(_A_MOMENT, self._ends - time.monotonic())
        response = super().send(request, *args, **{**kwargs, "timeout": min(left, self._silence)})
        if self._cut:
            response.close()
        self.check()
        return response

    def cut(self) -> None:
        self._cut = True
        for opened in self._opened:
            with suppress(OSError):
                # Past the TLS layer, which belongs to the thread that reads.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def check(self) -> None:
        if self._cut:
            raise requests.Timeout("the time was up")


def _noting(pool: type[HTTPConnectionPool], opened: list[socket.socket]) -> type[HTTPConnectionPool]:
    """The kind of pool whose connections can be found while they are in use."""
    kind: Any = pool.ConnectionCls

    class Noted(kind):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            opened.append(self.sock)

    return type(pool.__name__, (pool,), {"ConnectionCls": Noted})
