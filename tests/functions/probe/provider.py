"""Somebody who is paid by the call, and counts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from emulator.web import Reply, Request, Server


@dataclass
class Provider:
    """Answers over HTTP, so that a worker in a process of its own can be counted too."""

    url: str = ""
    calls: int = 0
    status: int = 200
    meanwhile: Callable[[], object] = field(default=lambda: None)  # done before each answer

    def renew(self) -> None:
        self.calls, self.status, self.meanwhile = 0, 200, lambda: None

    def answer(self, request: Request) -> Reply:
        self.calls += 1
        number = self.calls
        self.meanwhile()
        return Reply.json({"text": f"answer {number}"}, self.status)


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()
    server = Server(provider.answer).start()
    provider.url = server.url
    try:
        yield provider
    finally:
        server.stop()
