"""Candles: written by OHLCV_EXPORT, read by whoever draws or describes them.

The file is canonical JSON, `data` before `metadata`: what is known only at the end (how many there are) can then be
said at the end, and a million rows are written without holding them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowcore.domain.artifacts import canonical_json
from flowcore.domain.times import to_text

# How long a candle lasts; a month is as long as it is, so it has none.
TIMEFRAMES: Mapping[str, timedelta | None] = {
    "1M": None,
    "1w": timedelta(weeks=1),
    "1d": timedelta(days=1),
    "4h": timedelta(hours=4),
    "1h": timedelta(hours=1),
    "15": timedelta(minutes=15),
    "5": timedelta(minutes=5),
    "1": timedelta(minutes=1),
}


@dataclass(frozen=True, slots=True)
class Candle:
    time: datetime
    open: float
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True, slots=True)
class CandleFile:
    metadata: Mapping[str, object]
    candles: tuple[Candle, ...]

    @property
    def symbol(self) -> str:
        return str(self.metadata["symbol"])

    @property
    def timeframe(self) -> str:
        return str(self.metadata["timeframe"])


def closes_at(opened: datetime, timeframe: str) -> datetime:
    """When the candle that opened then is complete."""
    lasting = TIMEFRAMES[timeframe]
    if lasting is not None:
        return opened + lasting
    return opened.replace(year=opened.year + opened.month // 12, month=opened.month % 12 + 1)


def write_candles(candles: Iterable[Candle], metadata: Mapping[str, object]) -> Iterator[bytes]:
    """The file, piece by piece. `metadata` is looked at after the last candle, so it may be filled on the way."""
    yield b'{"data":['
    comma = b""
    for candle in candles:
        yield comma + canonical_json(_as_row(candle))
        comma = b","
    yield b'],"metadata":' + canonical_json(metadata) + b"}"


def read_candles(content: bytes) -> CandleFile:
    """A `ValueError` says what is wrong with the file."""
    try:
        file = json.loads(content)
        metadata = {
            "symbol": file["metadata"]["symbol"],
            "timeframe": file["metadata"]["timeframe"],
            **file["metadata"],
        }
        return CandleFile(metadata, tuple(_as_candle(row) for row in file["data"]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no file of candles ({type(error).__name__})") from error


def _as_row(candle: Candle) -> dict[str, object]:
    return {
        "date": to_text(candle.time),
        "open": candle.open,
        "high": candle.high,
        "low": candle.low,
        "close": candle.close,
        "volume": candle.volume,
    }


def _as_candle(row: Mapping[str, object]) -> Candle:
    time = datetime.fromisoformat(str(row["date"])).astimezone(UTC)
    return Candle(time, *(_figure(row[name]) for name in ("open", "high", "low", "close", "volume")))


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a price is a number")
    return float(value)
