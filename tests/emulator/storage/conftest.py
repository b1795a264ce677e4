"""One server for the session, one bucket for each test."""

import itertools
from collections.abc import Iterator

import pytest

from emulator.faults import Faults
from emulator.storage import StorageServer
from tests.emulator.storage.client import Bucket, Client, connected

numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; runs only when asked for with `-m long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "long" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: pytest -m long"))


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
