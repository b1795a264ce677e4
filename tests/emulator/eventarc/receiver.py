"""A function's stand-in: it notes what it is sent, and answers what it was told to."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property

from google.events.cloud.firestore import DocumentEventData

from emulator.web import Reply, Request, Server


@dataclass(frozen=True)
class Received:
    """One event as it arrived."""

    headers: Message
    body: bytes

    @cached_property
    def data(self) -> DocumentEventData:
        data: DocumentEventData = DocumentEventData.deserialize(self.body)
        return data

    @property
    def id(self) -> str:
        return str(self.headers["ce-id"])

    @property
    def document(self) -> str:
        return str(self.headers["ce-document"])

    @property
    def value(self) -> int:
        return int(self.data.value.fields["v"].integer_value)


@dataclass
class Receiver:
    """Answers with the statuses of `script` in turn, then with 204; `slow` seconds later."""

    script: list[int] = field(default_factory=list)
    slow: float = 0.0
    received: list[Received] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = Server(self._answer).start()
        self.url = self._server.url

    def stop(self) -> None:
        self._server.stop()

    @property
    def values(self) -> list[int]:
        return [event.value for event in self.received]

    def _answer(self, request: Request) -> Reply:
        with self._lock:
            self.received.append(Received(request.headers, request.body))
            status = self.script.pop(0) if self.script else 204
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.slow)
        with self._lock:
            self.at_once -= 1
        return Reply(status)


def eventually(holds: Callable[[], bool], timeout: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
