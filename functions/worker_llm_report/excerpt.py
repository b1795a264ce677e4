"""Candles for a model: one line each, and of too many the newest.

A report is about where the market is now, so if something has to stay out, it is the oldest. A line of figures takes a
third of the room that the same candle takes as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time

from flowcore.contracts.candles import Candle

MOST_BYTES = 65_536
HEADER = "time,open,high,low,close,volume"
# More have no room, however short their figures are.
MOST_CANDLES = MOST_BYTES // len("\n2020-01-01,1,1,1,1,1")


@dataclass(frozen=True, slots=True)
class Excerpt:
    text: str
    sent: int
    total: int


def newest(candles: Sequence[Candle], most_bytes: int = MOST_BYTES) -> Excerpt:
    """As many of the newest as there is room for, oldest first."""
    lines: list[str] = []
    room = most_bytes - len(HEADER)
    for candle in reversed(candles):
        line = _line(candle)
        room -= 1 + len(line)  # figures are ASCII: a character is a byte
        if room < 0:
            break
        lines.append(line)
    return Excerpt("\n".join([HEADER, *reversed(lines)]), len(lines), len(candles))


def _line(candle: Candle) -> str:
    moment = candle.time.date() if candle.time.time() == time() else candle.time.strftime("%Y-%m-%dT%H:%MZ")
    figures = (candle.open, candle.high, candle.low, candle.close, candle.volume)
    return ",".join([str(moment), *(f"{figure:.12g}" for figure in figures)])
