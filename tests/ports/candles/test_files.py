"""Files of candles: read forward, and refused with words where they cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import BinaryIO

import pytest

from flowcore.adapters.candle_files import FileCandles, packaged
from flowcore.contracts.candles import CandleQuery
from flowcore.domain.errors import Code, DataNotFoundError, NetworkError, ValidationError
from tests.ports.candles.conftest import in_file
from tests.ports.candles.rows import YEAR, Row, a_candle, a_row, as_csv, as_parquet

ContentOf = Callable[..., bytes]
BOTH = pytest.mark.parametrize(("name", "content_of"), [("c.csv", as_csv), ("c.parquet", as_parquet)])


def refused(name: str, content: bytes, query: CandleQuery = YEAR) -> ValidationError:
    with pytest.raises(ValidationError) as failed:
        list(in_file(name, content).candles(query, 10))
    assert failed.value.error.code is Code.INVALID_STEP_INPUTS
    assert name in failed.value.error.message
    return failed.value


def reason(error: ValidationError) -> object:
    return (error.error.details or {})["reason"]


@BOTH
def test_exchange_and_ingestion_may_be_missing(name: str, content_of: ContentOf) -> None:
    content = content_of([a_row(0), a_row(1)], without=["exchange", "ingested_at"])
    assert list(in_file(name, content).candles(YEAR, 10)) == [a_candle(0), a_candle(1)]


@BOTH
def test_an_exchange_cannot_be_asked_for_where_there_is_none(name: str, content_of: ContentOf) -> None:
    content = content_of([a_row(0)], without=["exchange"])
    assert reason(refused(name, content, replace(YEAR, exchange="BINANCE"))) == "file_no_exchange"


@BOTH
@pytest.mark.parametrize("missing", ["timestamp", "symbol", "timeframe", "open", "volume"])
def test_a_missing_column_is_refused(name: str, content_of: ContentOf, missing: str) -> None:
    assert reason(refused(name, content_of([a_row(0)], without=[missing]))) == "file_unreadable"


@BOTH
def test_a_file_that_jumps_back_is_refused(name: str, content_of: ContentOf) -> None:
    error = refused(name, content_of([a_row(3), a_row(1)]))
    assert reason(error) == "file_unsorted"
    assert "2025-01-02T00:00:00Z comes after 2025-01-04T00:00:00Z" in error.error.message


@BOTH
def test_what_is_not_asked_for_may_lie_in_any_order(name: str, content_of: ContentOf) -> None:
    rows: Sequence[Row] = [a_row(5, symbol="ETHUSDT"), a_row(0), a_row(1, symbol="ETHUSDT"), a_row(1)]
    assert list(in_file(name, content_of(rows)).candles(YEAR, 10)) == [a_candle(0), a_candle(1)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.csv", b""),
        ("c.csv", b"\x00\xff\xfe"),
        ("c.csv", as_csv([a_row(0, timestamp="yesterday")])),
        ("c.csv", as_csv([a_row(0, timestamp="2025-01-01")])),
        ("c.csv", as_csv([a_row(0, close="cheap")])),  # type: ignore[arg-type]
        ("c.parquet", b""),
        ("c.parquet", b"PAR1 nonsense PAR1"),
        ("c.parquet", as_csv([a_row(0)])),
        ("c.parquet", as_parquet([a_row(0)])[:-40]),
        (
            "c.parquet",
            as_parquet([a_row(day) for day in range(9)]).replace(b"BINANCE", b"\xff\xff\xff\xff\xff\xff\xff"),
        ),
    ],
    ids=["empty csv", "bytes", "no time", "no offset", "no price", "empty", "nonsense", "a csv", "cut off", "damaged"],
)
def test_what_is_no_file_of_candles_is_refused_without_quoting_it(name: str, content: bytes) -> None:
    error = refused(name, content)
    assert reason(error) == "file_unreadable"
    assert not any(word in error.error.message for word in ("yesterday", "cheap"))


@pytest.mark.parametrize("name", ["generated_btcusdt.csv", "generated_btcusdt.parquet"])
def test_packaged_files_can_be_read(name: str) -> None:
    months = CandleQuery("BTCUSDT", "1M", datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 1, tzinfo=UTC))
    candles = list(FileCandles(name, packaged).candles(months, 10))
    assert [candle.time.month for candle in candles] == list(range(1, 13))
    assert all(candle.complete for candle in candles)
    assert all(candle.low <= min(candle.open, candle.close) <= candle.high for candle in candles)


@pytest.mark.parametrize("name", ["", "no_such_file.csv", "../config.py", "/etc/hosts"])
def test_there_is_no_way_out_of_the_package(name: str) -> None:
    with pytest.raises(DataNotFoundError, match=r"inputs\.file.*generated_btcusdt\.csv"):
        list(FileCandles(name, packaged).candles(YEAR, 10))


@BOTH
def test_a_connection_that_breaks_is_silence(name: str, content_of: ContentOf) -> None:
    """A requests.ConnectionError is an OSError, and so is what Arrow says of a damaged file."""

    class Broken:
        closed = False

        def __getattr__(self, attribute: str) -> object:
            raise ConnectionResetError("gone")

    @contextmanager
    def opened(asked: str, timeout: float) -> Iterator[BinaryIO]:
        try:
            yield Broken()  # type: ignore[misc]
        except ConnectionError as gone:
            raise NetworkError(Code.GCS_READ_FAILED, "as the adapter of Cloud Storage would say it") from gone

    with pytest.raises(NetworkError):
        list(FileCandles(name, opened).candles(YEAR, 10))


@BOTH
def test_a_file_that_takes_too_long_is_silence(name: str, content_of: ContentOf) -> None:
    content = content_of([a_row(0)])
    with pytest.raises(NetworkError, match="in time") as failed:
        list(in_file(name, content).candles(YEAR, timeout=0.0))
    assert failed.value.error.code is Code.GCS_READ_FAILED
