"""From prices to pixels and from times to words: round numbers on the axis, and dates that do not crowd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
FAR = 1e5  # pixels: as far outside of the picture as anything is ever drawn
NO_MOVE = 1e-300  # a range smaller than this is none: what is divided by it ends at infinity


@dataclass(frozen=True, slots=True)
class Scale:
    """Values between `low` and `high` on the pixels between `bottom` and `top`; y grows downwards."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value: float) -> float:
        y = self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)
        return max(-FAR, min(FAR, y))


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """A little air above and below; a price that never moved gets a range to lie in the middle of."""
    if high - low <= max(abs(high) * 1e-9, NO_MOVE):
        air = abs(high) * 0.01 or 1.0
        return low - air, high + air
    air = (high - low) * share
    return low - air, high + air


def ticks(low: float, high: float, at_most: int) -> list[float]:
    """Round values inside the range, equally far apart."""
    step = round_step(low, high, at_most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def round_step(low: float, high: float, at_most: int) -> float:
    rough = (high - low) / max(1, at_most)
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * nice for nice in _ROUND if size * nice >= rough * (1 - 1e-9))


def decimals(step: float) -> int:
    """How many digits after the point are needed to tell neighbouring ticks apart."""
    for digits in range(12):
        if abs(round(step, digits) - step) <= step * 1e-6:
            return digits
    return 12


def figure(value: float, digits: int) -> str:
    """`43,211.50`; beyond a million million, in units."""
    return short(value) if abs(value) >= 1e12 else f"{value:,.{digits}f}"


def short(value: float) -> str:
    """`1.24M`: for volumes, where the size matters and the digits do not."""
    for unit, letter in _UNITS:
        if abs(value) >= unit * 0.9995:
            return f"{value / unit:,.2f}".rstrip("0").rstrip(".") + letter
    return f"{value:,.2f}".rstrip("0").rstrip(".") if value else "0"


def price_digits(price: float) -> int:
    """As many digits as make about six figures: 43,211.50 and 0.00001234 are both readable."""
    if price == 0:
        return 2
    return min(12, max(2, 5 - math.floor(math.log10(abs(price))) - 1)) if abs(price) < 1000 else 2


def date_ticks(times: Sequence[datetime], apart: float) -> list[tuple[int, str]]:
    """Which candles get a word below them: as fine as goes with all words at least `apart` candles from each other."""
    beginnings = [(index + 1, _beginning(before, after)) for index, (before, after) in enumerate(pairwise(times))]
    chosen: list[tuple[int, int]] = []
    for finest in range(1, len(_LEVELS) + 1):
        finer = [(index, level) for index, level in beginnings if level < finest]
        if any(after - before < apart for (before, _), (after, _) in pairwise(finer)):
            break
        chosen = finer
    if not chosen:
        return [(0, times[0].strftime("%d %b %Y"))]
    words = [(index, _LEVELS[level].word(times[index])) for index, level in chosen]
    if not any(_LEVELS[level].names_the_month for _, level in chosen):
        words[0] = words[0][0], times[words[0][0]].strftime("%d %b ") + (words[0][1] if ":" in words[0][1] else "")
    return [(index, word.strip()) for index, word in words]


def span_of_time(times: Sequence[datetime]) -> str:
    """`02 Jan 2020 to 24 Dec 2025`, with hours where days alone would not tell the ends apart."""
    first, last = times[0], times[-1]
    words = "%d %b %Y" if (last - first).days >= len(times) / 2 or len(times) == 1 else "%d %b %Y %H:%M"
    return first.strftime(words) if first == last else f"{first.strftime(words)} to {last.strftime(words)}"


@dataclass(frozen=True, slots=True)
class _Level:
    """A part of the calendar. It begins with a candle when `part` differs from the candle before."""

    part: Callable[[datetime], object]
    word: Callable[[datetime], str]
    names_the_month: bool = False


def _clock(minutes: int) -> _Level:
    return _Level(
        lambda time: (time.date(), (time.hour * 60 + time.minute) // minutes), lambda time: time.strftime("%H:%M")
    )


def _months(count: int) -> _Level:
    return _Level(lambda time: (time.year, (time.month - 1) // count), lambda time: time.strftime("%b"), True)


def _days(*firsts: int) -> _Level:
    return _Level(
        lambda time: (time.year, time.month, sum(time.day >= first for first in firsts)), lambda time: str(time.day)
    )


# Each level begins wherever the one above it does, or the words of two would collide.
_LEVELS = (
    _Level(lambda time: time.year, lambda time: str(time.year), True),
    *(_months(count) for count in (6, 3, 1)),
    *(_days(*firsts) for firsts in ((15,), (7, 15, 23), tuple(range(1, 28, 2)), tuple(range(1, 32)))),
    *(_clock(minutes) for minutes in (720, 360, 180, 60, 30, 15, 5, 1)),
)


def _beginning(before: datetime, after: datetime) -> int:
    """The coarsest level that begins with `after`; past the last one when none does."""
    return next((n for n, level in enumerate(_LEVELS) if level.part(before) != level.part(after)), len(_LEVELS))
