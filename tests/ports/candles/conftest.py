"""The same rows in BigQuery, in CSV and in Parquet."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import pytest

from emulator.bigquery import BigQueryServer
from flowcore.adapters.bigquery import BigQueryCandles
from flowcore.adapters.candle_files import FileCandles
from flowcore.contracts.candles import CandleSource
from tests.ports.candles.rows import FIELDS, Row, as_csv, as_parquet

SourceOf = Callable[[Sequence[Row]], CandleSource]
TABLE = "test.candles"


@pytest.fixture(scope="session")
def served() -> Iterator[BigQueryServer]:
    with BigQueryServer() as server:
        yield server


@pytest.fixture
def bigquery(served: BigQueryServer, monkeypatch: pytest.MonkeyPatch) -> BigQueryServer:
    """Ours, whichever one another suite has put into the environment."""
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", served.url)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    served.reset()
    served.faults.clear()
    served.faults.calls.clear()
    return served


@pytest.fixture(params=["bigquery", "csv", "parquet"])
def source_of(request: pytest.FixtureRequest) -> SourceOf:
    """Makes a source that holds the given rows."""
    if request.param == "bigquery":
        server: BigQueryServer = request.getfixturevalue("bigquery")
        return lambda rows: in_bigquery(server, rows)
    content_of = as_csv if request.param == "csv" else as_parquet
    return lambda rows: in_file(f"candles.{request.param}", content_of(rows))


def in_bigquery(server: BigQueryServer, rows: Sequence[Row], maximum_bytes: int = 2**30) -> BigQueryCandles:
    server.create_table(TABLE, FIELDS, partitioned_by="timestamp")
    server.load(TABLE, rows)
    return BigQueryCandles.connected(TABLE, maximum_bytes, 60, emulated=True)


def in_file(name: str, content: bytes) -> FileCandles:
    @contextmanager
    def opened(asked: str, timeout: float) -> Iterator[BinaryIO]:
        assert asked == name
        yield io.BytesIO(content)

    return FileCandles(name, opened)
