"""A Firestore, an Eventarc in which ten seconds take ten milliseconds, and functions to be told."""

from collections.abc import Callable, Iterator

import pytest
from google.cloud import firestore

from emulator.eventarc import EventarcServer, Kind, Subscription
from emulator.faults import Faults
from emulator.firestore.server import FirestoreServer
from tests.emulator.eventarc.receiver import Receiver
from tests.emulator.firestore.client import connected

Subscribe = Callable[..., Receiver]


@pytest.fixture(scope="module")
def store() -> Iterator[FirestoreServer]:
    server = FirestoreServer().start()
    yield server
    server.stop()


@pytest.fixture
def db(store: FirestoreServer) -> Iterator[firestore.Client]:
    store.clear("p")
    with connected(store.host, "p") as client:
        yield client


@pytest.fixture
def eventarc(store: FirestoreServer) -> Iterator[EventarcServer]:
    server = EventarcServer(store, faults=Faults(), time_scale=1000).start()
    yield server
    server.stop()


@pytest.fixture
def faults(eventarc: EventarcServer) -> Faults:
    return eventarc.faults


@pytest.fixture
def function(eventarc: EventarcServer) -> Iterator[Subscribe]:
    """A function with a trigger: `function("runs/{id}", Kind.CREATED, script=[500])`."""
    receivers: list[Receiver] = []

    def subscribe(
        pattern: str = "runs/{id}",
        kind: Kind = Kind.WRITTEN,
        *,
        retry: bool = True,
        concurrency: int = 4,
        database: str = "(default)",
        script: list[int] | None = None,
        slow: float = 0.0,
    ) -> Receiver:
        receiver = Receiver(script or [], slow)
        receivers.append(receiver)
        eventarc.subscribe(
            Subscription(
                f"function-{len(receivers)}",
                receiver.url,
                pattern,
                kind,
                database=database,
                retry=retry,
                concurrency=concurrency,
            )
        )
        return receiver

    yield subscribe
    for receiver in receivers:
        receiver.stop()
