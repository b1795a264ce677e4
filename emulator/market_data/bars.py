"""Candles as columns, and the arithmetic of timeframes: where a bar opens, when it is closed, how small make large.

All times are seconds since the epoch, in UTC. A week opens on Monday, a month on its first day.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Numbers = NDArray[np.float64]

DAY: Final = 86_400
FIRST_MONDAY: Final = 4 * DAY  # the epoch was a Thursday
SECONDS: Final = {"1h": 3_600, "4h": 14_400, "1d": DAY, "1w": 7 * DAY}


@dataclass(frozen=True, slots=True)
class Bars:
    """One row a bar, oldest first; `opened` is the moment that a bar begins with."""

    opened: Times
    open: Numbers
    high: Numbers
    low: Numbers
    close: Numbers
    volume: Numbers

    def __len__(self) -> int:
        return len(self.opened)

    def where(self, chosen: NDArray[np.bool_]) -> "Bars":
        columns = (self.open, self.high, self.low, self.close, self.volume)
        return Bars(self.opened[chosen], *(column[chosen] for column in columns))


def opening(times: Times, timeframe: str) -> Times:
    """When the bar opens that each of these moments falls into."""
    if timeframe == "1M":
        return times.astype("datetime64[s]").astype("datetime64[M]").astype("datetime64[s]").astype(np.int64)
    shift = FIRST_MONDAY if timeframe == "1w" else 0
    return (times - shift) // SECONDS[timeframe] * SECONDS[timeframe] + shift


def closing(opened: Times, timeframe: str) -> Times:
    """When the bars that open then are closed."""
    if timeframe == "1M":
        months = opened.astype("datetime64[s]").astype("datetime64[M]") + np.timedelta64(1, "M")
        return months.astype("datetime64[s]").astype(np.int64)
    return opened + SECONDS[timeframe]


def combined(bars: Bars, timeframe: str) -> Bars:
    """Smaller bars as the larger ones that they are parts of; the first and the last may be incomplete."""
    if len(bars) == 0:
        return bars
    opened = opening(bars.opened, timeframe)
    starts = np.flatnonzero(np.diff(opened, prepend=-1))
    ends = np.append(starts[1:], len(bars)) - 1
    return Bars(
        opened[starts],
        bars.open[starts],
        np.maximum.reduceat(bars.high, starts),
        np.minimum.reduceat(bars.low, starts),
        bars.close[ends],
        np.add.reduceat(bars.volume, starts).round(3),
    )


def whole(bars: Bars, timeframe: str, since: int, until: int) -> Bars:
    """Only the bars that lie between two moments entirely: a bar of half a month is not that month's bar."""
    return bars.where((bars.opened >= since) & (closing(bars.opened, timeframe) <= until))
