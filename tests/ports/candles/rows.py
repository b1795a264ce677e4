"""Rows of the candle table, as whoever ingests them would write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from flowcore.contracts.candles import Candle, CandleQuery
from flowcore.domain.times import to_text

Row = dict[str, object]

JANUARY = datetime(2025, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
YEAR = CandleQuery("BTCUSDT", "1d", JANUARY, JANUARY + 364 * DAY)
MOMENT = pa.timestamp("us", tz="UTC")
KINDS = {
    "timestamp": MOMENT,
    "exchange": pa.string(),
    "symbol": pa.string(),
    "timeframe": pa.string(),
    **dict.fromkeys(("open", "high", "low", "close", "volume"), pa.float64()),
    "ingested_at": MOMENT,
}
FIELDS = [
    {"name": name, "type": "TIMESTAMP" if kind == MOMENT else "FLOAT64" if kind == pa.float64() else "STRING"}
    for name, kind in KINDS.items()
]


def a_row(day: int, close: float | None = 10.0, **fields: object) -> Row:
    """The row of the n-th day of 2025."""
    row: Row = {
        "timestamp": JANUARY + day * DAY,
        "exchange": "BINANCE",
        "symbol": "BTCUSDT",
        "timeframe": "1d",
        "open": 9.5,
        "high": 11.0,
        "low": 9.0,
        "close": close,
        "volume": 1000.25,
        "ingested_at": JANUARY + 400 * DAY,
    }
    return {**row, **fields}


def a_candle(day: int, close: float = 10.0) -> Candle:
    return Candle(JANUARY + day * DAY, 9.5, 11.0, 9.0, close, 1000.25)


def as_csv(rows: Sequence[Row], without: Sequence[str] = ()) -> bytes:
    names = [name for name in KINDS if name not in without]
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(names)
    lines.writerows([_text(row[name]) for name in names] for row in rows)
    return text.getvalue().encode()


def as_parquet(rows: Sequence[Row], without: Sequence[str] = ()) -> bytes:
    names = [name for name in KINDS if name not in without]
    columns = {name: pa.array([row[name] for row in rows], KINDS[name]) for name in names}
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content, row_group_size=3)
    return content.getvalue()


def _text(value: object) -> str:
    if value is None:
        return ""
    return to_text(value) if isinstance(value, datetime) else str(value)
