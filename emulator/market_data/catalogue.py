"""What there is: each series with its bars, and the truth about where they come from."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from emulator.market_data import coins, stocks
from emulator.market_data.bars import Bars, combined, whole


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one symbol in one timeframe."""

    symbol: str
    exchange: str
    timeframe: str
    kind: Literal["real", "generated"]
    origin: str
    bars: Bars


def provenance(symbol: str) -> str:
    """Where the numbers come from, in words for people."""
    return f"real bars from {stocks.ORIGIN}" if symbol in stocks.EXCHANGES else coins.ORIGIN


def catalogue(now: datetime) -> Iterator[Series]:
    """Every series, with the bars that are closed by then."""
    moment = int(now.timestamp())
    for ticker, daily in stocks.daily_bars().items():
        since = 0 if ticker in stocks.LISTED_LATER else stocks.SINCE
        for timeframe in ("1d", "1w", "1M"):
            bars = whole(combined(daily, timeframe), timeframe, since, min(moment, stocks.UNTIL))
            yield Series(ticker, stocks.EXCHANGES[ticker], timeframe, "real", stocks.ORIGIN, bars)
    for coin in coins.COINS:
        hourly = coins.hourly_bars(coin, moment)
        for timeframe in ("1h", "4h", "1d", "1w", "1M"):
            bars = whole(combined(hourly, timeframe), timeframe, 0, moment)
            yield Series(coin.symbol, coins.EXCHANGE, timeframe, "generated", coins.ORIGIN, bars)
