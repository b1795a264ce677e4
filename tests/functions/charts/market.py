"""Candles to draw: a walk that is the same every time."""

import math
import random
from datetime import UTC, datetime, timedelta

from flowcore.contracts.candles import Candle, write_candles

SINCE = datetime(2024, 1, 1, tzinfo=UTC)


def walk(count: int, price: float = 43_000.0, step: timedelta = timedelta(days=1), seed: int = 7) -> list[Candle]:
    chance = random.Random(seed)
    candles = []
    for number in range(count):
        close = price * math.exp(chance.gauss(0.0005, 0.02))
        high, low = max(price, close) * (1 + chance.random() * 0.01), min(price, close) * (1 - chance.random() * 0.01)
        candles.append(Candle(SINCE + number * step, price, high, low, close, 1e6 * (0.5 + chance.random())))
        price = close
    return candles


def candle(number: int, *figures: float, volume: float = 1.0) -> Candle:
    """Open, high, low and close; or one figure for all four."""
    opened, high, low, close = figures if len(figures) == 4 else figures * 4
    return Candle(SINCE + timedelta(days=number), opened, high, low, close, volume)


def candle_file(candles: list[Candle], symbol: str = "BTCUSDT", timeframe: str = "1d") -> bytes:
    metadata = {"symbol": symbol, "timeframe": timeframe, "count": len(candles)}
    return b"".join(write_candles(candles, metadata))
