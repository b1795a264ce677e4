"""The file of candles: one text for the same candles, and the newest can be read without the rest."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.contracts.candles import (
    TIMEFRAMES,
    Candle,
    closes_at,
    last_closed,
    newest_candles,
    read_candles,
    write_candles,
)
from flowcore.domain.artifacts import canonical_json
from tests.ports.candles.rows import a_candle

METADATA = {"symbol": "BTCUSDT", "timeframe": "1d", "note": 'ends with ]},"metadata":{'}
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - by timezones=
FIGURES = st.floats(0, 1e12)
CANDLES = st.lists(st.builds(Candle, MOMENTS, FIGURES, FIGURES, FIGURES, FIGURES, FIGURES), max_size=5)


def written(*candles: Candle) -> bytes:
    return b"".join(write_candles(candles, METADATA))


def test_the_shape_of_the_file() -> None:
    file = json.loads(written(a_candle(0)))
    assert file == {
        "data": [
            {"date": "2025-01-01T00:00:00Z", "open": 9.5, "high": 11.0, "low": 9.0, "close": 10.0, "volume": 1000.25}
        ],
        "metadata": METADATA,
    }


@given(CANDLES)
def test_the_file_is_canonical_and_can_be_read_back(candles: list[Candle]) -> None:
    content = written(*candles)
    assert content == canonical_json(json.loads(content))
    assert read_candles(content).candles == tuple(candles)


@given(CANDLES, st.integers(0, 7))
def test_the_newest_are_the_last(candles: list[Candle], most: int) -> None:
    file = newest_candles(written(*candles), most)
    assert file.candles == tuple(candles[len(candles) - min(most, len(candles)) :])
    assert file.metadata == METADATA
    assert file.total == len(candles)


def test_a_file_in_another_order_is_read_as_well() -> None:
    told = json.loads(written(a_candle(0), a_candle(1)))
    content = json.dumps({"metadata": told["metadata"], "data": told["data"]}, indent=2).encode()
    assert read_candles(content).candles == (a_candle(0), a_candle(1))
    assert newest_candles(content, 1).candles == (a_candle(1),)
    assert newest_candles(content, 1).total == read_candles(content).total == 2


def test_metadata_may_be_filled_on_the_way() -> None:
    metadata: dict[str, object] = {"symbol": "BTCUSDT", "timeframe": "1d"}
    pieces = write_candles((a_candle(day) for day in range(3)), metadata)
    first = next(pieces)
    metadata["count"] = 3
    assert read_candles(first + b"".join(pieces)).metadata["count"] == 3


def test_pieces_are_neither_crumbs_nor_mountains() -> None:
    sizes = [len(piece) for piece in write_candles((a_candle(day) for day in range(5_000)), METADATA)]
    assert len(sizes) > 5
    assert all(30_000 < size < 100_000 for size in sizes[:-2])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"data":[]}',
        b'{"data":[],"metadata":{"symbol":"X"}}',
        b'{"data":[{"date":"2025-01-01T00:00:00Z"}],"metadata":{"symbol":"X","timeframe":"1d"}}',
        b'{"data":[{"close":true}],"metadata":{"symbol":"X","timeframe":"1d"}}',
        written(a_candle(0)).replace(b"2025-01-01T00:00:00Z", b"soon"),
        written(a_candle(0)).replace(b'"close":10.0', b'"close":"10.0"'),
        written(a_candle(0)).replace(b'"close":10.0', b'"close":1' + b"0" * 400),
        written(a_candle(0)).replace(b"2025-01-01T00:00:00Z", b"0001-01-01T00:00:00+23:59"),
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_is_no_file_of_candles_says_so(content: bytes) -> None:
    for read in (read_candles, lambda content: newest_candles(content, 1)):
        with pytest.raises(ValueError, match="no file of candles"):
            read(content)


@pytest.mark.parametrize(
    ("opened", "timeframe", "closed"),
    [
        ("2025-01-01T00:00", "1M", "2025-02-01T00:00"),
        ("2024-12-01T00:00", "1M", "2025-01-01T00:00"),
        ("2024-02-01T00:00", "1M", "2024-03-01T00:00"),
        ("2025-01-31T16:00", "1M", "2025-02-28T16:00"),
        ("2025-01-06T00:00", "1w", "2025-01-13T00:00"),
        ("2025-12-31T00:00", "1d", "2026-01-01T00:00"),
        ("2025-01-01T20:00", "4h", "2025-01-02T00:00"),
        ("2025-01-01T00:00", "15", "2025-01-01T00:15"),
    ],
)
def test_when_a_candle_closes(opened: str, timeframe: str, closed: str) -> None:
    assert closes_at(datetime.fromisoformat(opened), timeframe) == datetime.fromisoformat(closed)


@given(MOMENTS, st.sampled_from(list(TIMEFRAMES)))
def test_the_last_closed_candle_is_closed(moment: datetime, timeframe: str) -> None:
    opened = last_closed(moment, timeframe)
    assert closes_at(opened, timeframe) <= moment
    # … and of those that open when months, weeks and days begin, none that is closed was forgotten.
    later = opened.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)
    assert timeframe != "1M" or closes_at(later.replace(day=1), timeframe) > moment
