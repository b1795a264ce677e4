"""A small analyst: what a series of candles says about trend, levels and volatility, in numbers and in words."""

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final, Literal

from emulator.gemini.candles import Series, candles_in
from emulator.gemini.prompt import Prompt

Trend = Literal["up", "down", "sideways"]

SYMBOL: Final = re.compile(
    r"""\b(?:symbol|ticker|instrument)["']?\s*[:=]\s*["']?([A-Za-z0-9/._:-]{2,20})""", re.IGNORECASE
)
CLEAR: Final = 0.3  # how much of the variance a straight line has to explain before we call it a trend


@dataclass(frozen=True, slots=True)
class Findings:
    """What one series says; prices in its own unit, changes in percent."""

    symbol: str
    candles: int
    first: float
    last: float
    support: float
    resistance: float
    volatility: float
    average_range: float
    trend: Trend
    clarity: float
    levels: tuple[float, ...]

    @property
    def change(self) -> float:
        return (self.last / self.first - 1) * 100

    @property
    def title(self) -> str:
        return f"{self.symbol}: {self.sentence_of_trend}"

    @property
    def sentence_of_trend(self) -> str:
        way = {"up": "rising", "down": "falling", "sideways": "moving sideways"}[self.trend]
        return f"{way} from {self.first:g} to {self.last:g} ({self.change:+.2f} %) over {self.candles} candles"

    @property
    def observations(self) -> tuple[str, ...]:
        """Sentences, each about another side of the data."""
        return (
            f"The price is {self.sentence_of_trend}.",
            f"Support lies at {self.support:g}, resistance at {self.resistance:g}.",
            f"Volatility is {self.volatility:.2f} % a candle, with an average range of {self.average_range:g}.",
            f"A straight line explains {self.clarity:.0%} of the closes.",
        )


def study(prompt: Prompt) -> list[Findings]:
    """Findings for each series in the prompt; none, when it has none."""
    match = SYMBOL.search(prompt.text)
    symbol = match[1] if match else "The market"
    return [findings(series, symbol) for series in candles_in(prompt.text)]


def findings(series: Series, symbol: str) -> Findings:
    closes = [candle.close for candle in series]
    slope, clarity = _line(closes)
    returns = [math.log(after / before) for before, after in pairwise(closes)]
    recent = series[-max(5, len(series) // 2) :]
    support, resistance = min(candle.low for candle in recent), max(candle.high for candle in recent)
    return Findings(
        symbol=symbol,
        candles=len(series),
        first=closes[0],
        last=closes[-1],
        support=support,
        resistance=resistance,
        volatility=100 * stdev(returns) if len(returns) > 1 else 0.0,
        average_range=_rounded(fmean(candle.high - candle.low for candle in series)),
        trend="sideways" if clarity < CLEAR or slope == 0 else "up" if slope > 0 else "down",
        clarity=clarity,
        levels=tuple(sorted({support, _rounded((support + resistance) / 2), resistance})),
    )


def report(prompt: Prompt, studied: list[Findings]) -> str:
    """The findings as markdown; without any, what the prompt was instead."""
    if not studied:
        words = " ".join(prompt.text.split()[:12])
        return f"## No candles\n\nThe prompt has no candles to speak about. It begins: “{words}”, {_seen(prompt)}.\n"
    sections = [f"## {one.title}\n\n" + "".join(f"- {sentence}\n" for sentence in one.observations) for one in studied]
    return "\n".join(sections) + f"\nRead from {_seen(prompt)}.\n"


def _seen(prompt: Prompt) -> str:
    return f"{prompt.text_tokens} tokens of text and {len(prompt.images)} image{'s' * (len(prompt.images) != 1)}"


def _line(values: list[float]) -> tuple[float, float]:
    """Slope of the best straight line, and the part of the variance that it explains."""
    middle, mean = (len(values) - 1) / 2, fmean(values)
    across = sum((index - middle) ** 2 for index in range(len(values)))
    along = sum((index - middle) * (value - mean) for index, value in enumerate(values))
    variance = sum((value - mean) ** 2 for value in values)
    return along / across, along**2 / (across * variance) if variance else 0.0


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
