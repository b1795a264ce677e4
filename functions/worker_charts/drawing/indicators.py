"""The figures that traders read, defined as the big charting sites define them. Pure arithmetic, one value a candle.

None stands where an indicator has no value yet: an average of twelve needs twelve.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from flowcore.contracts.candles import Candle

Values = list[float | None]


def simple_average(values: Sequence[float | None], length: int) -> Values:
    return [None if window is None else sum(window) / length for window in _windows(values, length)]


def exponential_average(values: Sequence[float | None], length: int) -> Values:
    return _smoothed(values, length, 2 / (length + 1))


def wilder_average(values: Sequence[float | None], length: int) -> Values:
    """Wilder's own smoothing, slower than the exponential one of the same length."""
    return _smoothed(values, length, 1 / length)


def bollinger_bands(values: Sequence[float | None], length: int, width: float) -> tuple[Values, Values, Values]:
    """Lower band, average, upper band: `width` standard deviations (of the population) around the average."""
    lower: Values = []
    middle: Values = []
    upper: Values = []
    for window in _windows(values, length):
        if window is None:
            spread = mean = None
        else:
            mean = sum(window) / length
            spread = width * sqrt(sum((value - mean) ** 2 for value in window) / length)
        middle.append(mean)
        lower.append(None if mean is None or spread is None else mean - spread)
        upper.append(None if mean is None or spread is None else mean + spread)
    return lower, middle, upper


def relative_strength(closes: Sequence[float], length: int) -> Values:
    """From 0 (only losses) to 100 (only gains); 50 when nothing moved at all."""
    changes = [None, *(after - before for before, after in pairwise(closes))]
    gains = wilder_average([None if change is None else max(change, 0.0) for change in changes], length)
    losses = wilder_average([None if change is None else max(-change, 0.0) for change in changes], length)
    return [_strength(gain, loss) for gain, loss in zip(gains, losses, strict=True)]


def stochastic_strength(
    closes: Sequence[float], strength: int, length: int, smooth: int, signal: int
) -> tuple[Values, Values]:
    """%K and %D: where the relative strength stands within its own recent range, smoothed once and twice."""
    raw: Values = []
    for window in _windows(relative_strength(closes, strength), length):
        if window is None:
            raw.append(None)
        else:
            low, high = min(window), max(window)
            raw.append(50.0 if high == low else 100 * (window[-1] - low) / (high - low))
    fast = simple_average(raw, smooth)
    return fast, simple_average(fast, signal)


def moving_convergence(closes: Sequence[float], fast: int, slow: int, signal: int) -> tuple[Values, Values, Values]:
    """MACD: the line, its signal, and the histogram between them."""
    line = _difference(exponential_average(closes, fast), exponential_average(closes, slow))
    signal_line = exponential_average(line, signal)
    return line, signal_line, _difference(line, signal_line)


def parabolic_stop(candles: Sequence[Candle], start: float, step: float, highest: float) -> Values:
    """Wilder's stop-and-reverse: a dot on the side from which the trend would be broken."""
    if len(candles) < 2:
        return [None] * len(candles)
    rising = candles[1].close >= candles[0].close
    stop = candles[0].low if rising else candles[0].high
    extreme = candles[0].high if rising else candles[0].low
    speed = start
    stops: Values = [None]
    for before, candle in pairwise(candles):
        stop += speed * (extreme - stop)
        # The stop may not enter the range of the last candles, or it would be hit by what is already known.
        stop = min(stop, before.low) if rising else max(stop, before.high)
        broken = candle.low < stop if rising else candle.high > stop
        if broken:
            rising, stop, speed = not rising, extreme, start
            extreme = candle.high if rising else candle.low
        elif (candle.high > extreme) if rising else (candle.low < extreme):
            extreme = candle.high if rising else candle.low
            speed = min(speed + step, highest)
        stops.append(stop)
    return stops


def accumulation(candles: Sequence[Candle]) -> Values:
    """Accumulation/distribution: volume, signed by where within its range each candle closed, added up."""
    total = 0.0
    values: Values = []
    for candle in candles:
        span = candle.high - candle.low
        place = ((candle.close - candle.low) - (candle.high - candle.close)) / span if span else 0.0
        total += place * candle.volume
        values.append(total)
    return values


def balance_of_volume(candles: Sequence[Candle]) -> Values:
    """On-balance volume: added on days that rose, taken away on days that fell."""
    total = 0.0
    values: Values = [total] if candles else []
    for before, candle in pairwise(candles):
        total += candle.volume * ((candle.close > before.close) - (candle.close < before.close))
        values.append(total)
    return values


def volume_profile(candles: Sequence[Candle], low: float, high: float, rows: int) -> list[tuple[float, float]]:
    """How much was traded at each height of the chart, lowest first: in rising candles and in falling ones.

    A candle says only that its volume was traded somewhere between its low and its high, so it is spread evenly.
    """
    profile = [[0.0, 0.0] for _ in range(rows)]
    height = (high - low) / rows
    for candle in candles:
        side = 0 if candle.close >= candle.open else 1
        first = _row(candle.low, low, height, rows)
        last = _row(candle.high, low, height, rows)
        span = candle.high - candle.low
        for row in range(first, last + 1):
            bottom = low + row * height
            shared = min(candle.high, bottom + height) - max(candle.low, bottom)
            profile[row][side] += candle.volume * (shared / span if span > 0 else 1.0)
    return [(rising, falling) for rising, falling in profile]


def _row(price: float, low: float, height: float, rows: int) -> int:
    return min(rows - 1, max(0, int((price - low) / height))) if height > 0 else 0


def _windows(values: Sequence[float | None], length: int) -> list[list[float] | None]:
    """For each value the last `length` of them, or None where one is missing."""
    windows: list[list[float] | None] = []
    run: list[float] = []
    for value in values:
        run = [] if value is None else [*run[-(length - 1) :], value] if length > 1 else [value]
        windows.append(run if len(run) == length else None)
    return windows


def _smoothed(values: Sequence[float | None], length: int, weight: float) -> Values:
    """Begins with the plain average of the first `length` values, as charting sites do."""
    smoothed: Values = []
    begun: list[float] = []
    current: float | None = None
    for value in values:
        if value is not None and current is not None:
            current += weight * (value - current)
        elif value is not None:
            begun.append(value)
            if len(begun) == length:
                current = sum(begun) / length
        smoothed.append(current)
    return smoothed


def _strength(gain: float | None, loss: float | None) -> float | None:
    if gain is None or loss is None:
        return None
    return 100 * gain / (gain + loss) if gain + loss > 0 else 50.0


def _difference(left: Values, right: Values) -> Values:
    return [None if a is None or b is None else a - b for a, b in zip(left, right, strict=True)]
