"""Two Firestores, one suite: each test runs on ours and, where there is one, on the official emulator.

A test that the official emulator is known to fail says so with `@pytest.mark.differs("heading")`; the heading stands in
DIFFERENCES.md, and the test must fail there, or the difference is gone. Tests of what only ours can do (faults, the
feed, the journal) ask for `server` instead of `db`.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from google.cloud import firestore

from emulator.faults import Faults
from emulator.firestore.server import FirestoreServer
from tests.emulator.firestore.client import connected, fill
from tests.emulator.firestore.oracle import official, why_absent

serial = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """A Firestore: which one, and where."""

    name: str
    host: str


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "differs(heading): the official emulator does otherwise; see DIFFERENCES.md")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        difference = item.get_closest_marker("differs")
        if difference and "[official" in item.name:
            item.add_marker(pytest.mark.xfail(strict=True, reason=f"differs: {difference.args[0]}"))


@pytest.fixture(scope="session")
def server() -> Iterator[FirestoreServer]:
    server = FirestoreServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def oracle_host() -> Iterator[str]:
    """One for all: it takes seconds to start, and every test has a project of its own."""
    if reason := why_absent():
        pytest.skip(reason)
    with official() as host:
        yield host


@pytest.fixture(scope="session", params=["ours", "official"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "ours":
        server: FirestoreServer = request.getfixturevalue("server")
        return Place("ours", server.host)
    host: str = request.getfixturevalue("oracle_host")
    return Place("official", host)


@pytest.fixture
def db(place: Place) -> Iterator[firestore.Client]:
    """An empty database of a project of its own."""
    with connected(place.host, _project()) as client:
        yield client


@pytest.fixture
def doc(db: firestore.Client) -> firestore.DocumentReference:
    """A document that is not there yet."""
    return db.document("runs/r1")


@pytest.fixture
def numbers(db: firestore.Client) -> firestore.CollectionReference:
    """Six documents d0…d5: v counts, w is v modulo 3, tags holds both, and only the even ones have `even`."""
    documents = {
        f"d{n}": {"v": n, "w": n % 3, "tags": [n, f"w{n % 3}"], "m": {"v": n}} | ({"even": n} if n % 2 == 0 else {})
        for n in range(6)
    }
    return fill(db, "numbers", **documents)


@pytest.fixture
def ours(server: FirestoreServer) -> Iterator[firestore.Client]:
    """The same, on ours only."""
    with connected(server.host, _project()) as client:
        yield client


@pytest.fixture
def another(place: Place) -> Iterator[Callable[..., firestore.Client]]:
    """More clients of the same Firestore: `another("project")`, `another("project", database="second")`."""
    with ExitStack() as clients:
        yield lambda project, database=None: clients.enter_context(connected(place.host, project, database))


@pytest.fixture
def faults(server: FirestoreServer) -> Iterator[Faults]:
    server.faults.clear()
    server.faults.calls.clear()
    yield server.faults
    server.faults.clear()


def _project() -> str:
    return f"test-{os.getpid()}-{next(serial)}"
