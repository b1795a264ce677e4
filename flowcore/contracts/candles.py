"""Candles: where they come from, and the file that OHLCV_EXPORT makes of them for whoever draws or describes them.

The file is canonical JSON, `data` before `metadata`: what is known only at the end (how many there are) can then be
said at the end, and a million rows are written without holding them. For the same reason the newest few can be read
from the end without parsing the rest.
"""

from __future__ import annotations

import calendar
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import isfinite
from typing import Protocol

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

_PIECE = 512  # candles: about 64 KiB
_OPENING, _ROW, _BETWEEN, _CLOSING = b'{"data":[', b'{"close":', b'],"metadata":', b"}"
# In all these ways a file can be something else. The last: a price, or a year, that no number of ours can hold.
_MISFITS = (KeyError, TypeError, ValueError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True)
class Candle:
    """What happened from `time` on. A figure that the source does not have is NaN."""

    time: datetime
    open: float
    high: float
    low: float
    close: float
    volume: float

    @property
    def complete(self) -> bool:
        """Whether every figure is one. Adding them up keeps whatever is not."""
        return isfinite(self.open + self.high + self.low + self.close + self.volume)


# --- where they come from ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CandleQuery:
    """Which candles: those that opened between two moments, both included. Without an exchange: of any."""

    symbol: str
    timeframe: str
    since: datetime
    until: datetime
    exchange: str | None = None


class CandleSource(Protocol):
    def candles(self, query: CandleQuery, timeout: float) -> Iterator[Candle]:
        """In ascending order, one for each moment, and incomplete ones too: to leave them out is the caller's choice.

        Where several rows are of the same moment, a complete one comes before an incomplete one, then the exchange
        that is first by name (so that a series does not jump between two), then the row that was ingested last.

        `timeout` is for all of them. A `NetworkError` may come at any candle; what is still missing can then be asked
        for as a query of its own, because the order is that of time.
        """


def closes_at(opened: datetime, timeframe: str) -> datetime:
    """When the candle that opened then is complete."""
    lasting = TIMEFRAMES[timeframe]
    return opened + lasting if lasting is not None else _months_on(opened, 1)


def last_closed(moment: datetime, timeframe: str) -> datetime:
    """The latest opening of a candle that is complete at this moment."""
    lasting = TIMEFRAMES[timeframe]
    return moment - lasting if lasting is not None else _months_on(moment, -1)


def _months_on(moment: datetime, months: int) -> datetime:
    """The same day of another month, or its last one: a month begins on the 31st where clocks are ahead of UTC."""
    years, month = divmod(moment.month - 1 + months, 12)
    year = moment.year + years
    last_day = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last_day))


# --- the file ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CandleFile:
    metadata: Mapping[str, object]
    candles: tuple[Candle, ...]
    total: int  # how many the file has; `candles` may be the newest of them

    @property
    def symbol(self) -> str:
        return str(self.metadata["symbol"])

    @property
    def timeframe(self) -> str:
        return str(self.metadata["timeframe"])


def write_candles(candles: Iterable[Candle], metadata: Mapping[str, object]) -> Iterator[bytes]:
    """The file, piece by piece. `metadata` is looked at after the last candle, so it may be filled on the way."""
    rows = map(_as_row, candles)
    before = _OPENING
    while some := list(islice(rows, _PIECE)):
        yield before + ",".join(some).encode()
        before = b","
    yield (_OPENING if before == _OPENING else b"") + _BETWEEN + canonical_json(metadata) + _CLOSING


def read_candles(content: bytes) -> CandleFile:
    """A `ValueError` says what is wrong with the file."""
    try:
        file = json.loads(content)
        return _as_file(file["metadata"], file["data"], len(file["data"]))
    except _MISFITS as error:
        raise ValueError(f"this is no file of candles ({type(error).__name__})") from error


def newest_candles(content: bytes, most: int) -> CandleFile:
    """As `read_candles`, but with the last few candles alone; of a large file only those are parsed."""
    end = content.find(_BETWEEN)
    start = end
    for _ in range(most):
        earlier = content.rfind(_ROW, 0, start)
        if earlier < 0:
            break
        start = earlier
    try:
        if end < 0 or not content.startswith((_OPENING + _ROW, _OPENING + _BETWEEN)):
            raise ValueError("not as we write it")
        metadata = json.loads(content[end + len(_BETWEEN) : -len(_CLOSING)])
        return _as_file(metadata, json.loads(b"[" + content[start:end] + b"]"), content.count(_ROW, 0, end))
    except _MISFITS:
        # Read as a whole, which also finds out whether it is such a file at all.
        whole = read_candles(content)
        return replace(whole, candles=whole.candles[max(0, whole.total - most) :])


def _as_file(metadata: Mapping[str, object], rows: Iterable[Mapping[str, object]], total: int) -> CandleFile:
    needed = {"symbol": metadata["symbol"], "timeframe": metadata["timeframe"]}
    return CandleFile({**needed, **metadata}, tuple(map(_as_candle, rows)), total)


def _as_row(candle: Candle) -> str:
    """Canonical JSON by hand: the keys are in order, and a million rows take seconds, not a minute."""
    return (
        f'{{"close":{candle.close!r},"date":"{to_text(candle.time)}","high":{candle.high!r},'
        f'"low":{candle.low!r},"open":{candle.open!r},"volume":{candle.volume!r}}}'
    )


def _as_candle(row: Mapping[str, object]) -> Candle:
    time = datetime.fromisoformat(str(row["date"])).astimezone(UTC)
    return Candle(time, *(_figure(row[name]) for name in ("open", "high", "low", "close", "volume")))


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a price is a number")
    return float(value)
