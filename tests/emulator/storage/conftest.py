"""One server for the session, one bucket for each test."""

import itertools
from collections.abc import Iterator

import pytest

from emulator.faults import Faults
from emulator.storage import StorageServer
from tests.emulator.storage.client import Bucket, Client, connected

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[StorageServer]:
    server = StorageServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def client(server: StorageServer) -> Iterator[Client]:
    with connected(server.url) as client:
        yield client


@pytest.fixture
def bucket(client: Client) -> Bucket:
    return client.create_bucket(f"test-{next(numbers)}")


@pytest.fixture
def faults(server: StorageServer) -> Iterator[Faults]:
    server.faults.clear()
    server.faults.calls.clear()
    yield server.faults
    server.faults.clear()
