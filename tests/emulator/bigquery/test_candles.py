"""The seeded market: what an export would ask, and the truth about what it gets."""

from datetime import UTC, datetime, timedelta

import pytest
from google.cloud import bigquery
from google.cloud.bigquery import ScalarQueryParameter

from tests.emulator.bigquery.asking import answer, value
from tests.emulator.bigquery.conftest import NOW

ALL = """
    SELECT timestamp FROM `demo.market.candles`
    WHERE symbol = @symbol AND timeframe = @timeframe AND timestamp >= @since AND timestamp < @until
    ORDER BY timestamp
"""


def exported(client: bigquery.Client, symbol: str, timeframe: str) -> list[datetime]:
    rows = answer(
        client,
        ALL,
        ScalarQueryParameter("symbol", "STRING", symbol),
        ScalarQueryParameter("timeframe", "STRING", timeframe),
        ScalarQueryParameter("since", "TIMESTAMP", NOW - timedelta(days=5475)),
        ScalarQueryParameter("until", "TIMESTAMP", NOW),
    )
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("timeframe", "count", "last"),
    [
        ("1M", 179, datetime(2026, 5, 1, tzinfo=UTC)),
        ("1w", 781, datetime(2026, 6, 8, tzinfo=UTC)),
        ("1d", 5474, datetime(2026, 6, 16, tzinfo=UTC)),
        ("4h", 32_849, datetime(2026, 6, 17, 8, tzinfo=UTC)),
    ],
)
def test_fifteen_years_of_closed_candles(client: bigquery.Client, timeframe: str, count: int, last: datetime) -> None:
    times = exported(client, "BTCUSDT", timeframe)
    assert len(times) == count
    assert times[-1] == last


def test_hours_reach_until_the_last_full_one(client: bigquery.Client) -> None:
    sql = "SELECT MAX(timestamp) FROM market.candles WHERE symbol = 'ETHUSDT' AND timeframe = '1h'"
    assert value(client, sql) == datetime(2026, 6, 17, 11, tzinfo=UTC)


def test_a_real_bar_is_what_was_traded(client: bigquery.Client) -> None:
    sql = """
        SELECT exchange, open, high, low, close, volume FROM market.candles
        WHERE symbol = 'AAPL' AND timeframe = '1d' AND timestamp = '2013-03-01'
    """
    assert answer(client, sql) == [("NASDAQ", 438.0, 438.1799, 429.98, 430.47, 19_730_300.0)]


def test_every_series_says_what_it_is(client: bigquery.Client) -> None:
    sql = """
        SELECT s.symbol, s.kind, COUNT(*) = ANY_VALUE(s.candles), MIN(c.timestamp) = ANY_VALUE(s.from_time),
               MAX(c.timestamp) = ANY_VALUE(s.to_time)
        FROM market.candle_sources s JOIN market.candles c USING (symbol, timeframe, exchange)
        GROUP BY s.symbol, s.timeframe, s.kind
    """
    rows = answer(client, sql)
    kinds = {symbol: kind for symbol, kind, *_ in rows}
    assert kinds == dict.fromkeys(("AAPL", "FB", "GOOG", "IBM", "MSFT"), "real") | dict.fromkeys(
        ("BTCUSDT", "ETHUSDT"), "generated"
    )
    assert all(all(agree) for _, _, *agree in rows)
    assert len(rows) == value(client, "SELECT COUNT(*) FROM market.candle_sources") == 25


def test_no_candle_is_without_a_label(client: bigquery.Client) -> None:
    sql = """
        SELECT COUNT(*) FROM market.candles WHERE CONCAT(symbol, timeframe)
        NOT IN (SELECT CONCAT(symbol, timeframe) FROM market.candle_sources)
    """
    assert value(client, sql) == 0


def test_a_candle_is_taken_in_when_it_is_closed(client: bigquery.Client) -> None:
    sql = """
        SELECT timeframe, ingested_at FROM market.candles
        WHERE symbol = 'BTCUSDT' AND timestamp = '2024-02-01' ORDER BY timeframe
    """
    assert answer(client, sql) == [
        ("1M", datetime(2024, 3, 1, tzinfo=UTC)),
        ("1d", datetime(2024, 2, 2, tzinfo=UTC)),
        ("1h", datetime(2024, 2, 1, 1, tzinfo=UTC)),
        ("4h", datetime(2024, 2, 1, 4, tzinfo=UTC)),
    ]
