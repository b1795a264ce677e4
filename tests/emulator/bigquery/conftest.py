"""One server for the session, at a moment of its own; each test begins with the seeded tables and fair weather."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from emulator.bigquery import BigQueryServer

NOW = datetime(2026, 6, 17, 12, 30, tzinfo=UTC)  # a Wednesday


@pytest.fixture(scope="session")
def running() -> Iterator[BigQueryServer]:
    with BigQueryServer(clock=lambda: NOW) as server:
        yield server


@pytest.fixture
def server(running: BigQueryServer) -> BigQueryServer:
    running.faults.clear()
    running.faults.calls.clear()
    running.reset()
    return running


@pytest.fixture(scope="session")
def connected(running: BigQueryServer) -> Iterator[bigquery.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIGQUERY_EMULATOR_HOST", running.url)
        client = bigquery.Client(project="demo", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    yield client
    client.close()  # type: ignore[no-untyped-call]


@pytest.fixture
def client(server: BigQueryServer, connected: bigquery.Client) -> bigquery.Client:
    return connected
