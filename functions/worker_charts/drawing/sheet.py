"""The paper that one chart is drawn on: which candles it shows, and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

from flowcore.contracts.candles import Candle
from functions.worker_charts.drawing.canvas import Canvas, Point
from functions.worker_charts.drawing.indicators import Values
from functions.worker_charts.drawing.scales import NO_MOVE, Scale
from functions.worker_charts.drawing.studies import Curve
from functions.worker_charts.drawing.themes import Colour, Theme

WIDEST_BODY = 25


class Sheet:
    """Candles stand side by side between `left` and `right`, whatever time lies between them."""

    def __init__(self, canvas: Canvas, theme: Theme, candles: Sequence[Candle], left: int, right: int) -> None:
        self.canvas = canvas
        self.theme = theme
        self.candles = candles
        self.left, self.right = left, right
        self.slot = (right - left) / len(candles)

    def x(self, index: int) -> int:
        return round(self.left + (index + 0.5) * self.slot)

    def bar(self, share: float) -> int:
        """How wide a bar is; odd, so that it has a middle."""
        width = min(WIDEST_BODY, round(self.slot * share))
        return max(1, width - (width + 1) % 2)

    def points(self, values: Values, scale: Scale) -> list[Point | None]:
        """In the middle of their pixels."""
        return [
            None if value is None else (self.x(index) + 0.5, scale.y(value))
            for index, value in enumerate(self.newest(values))
        ]

    def newest(self, values: Values) -> Values:
        return values[-len(self.candles) :]

    def direction(self, candle: Candle) -> Colour:
        return self.theme.rising if candle.close >= candle.open else self.theme.falling

    def colour(self, curve: Curve) -> Colour:
        return self.theme.curves[curve.colour % len(self.theme.curves)]

    @property
    def lowest(self) -> float:
        """Of all four: a bad feed has candles that close below their low."""
        return min(min(candle.open, candle.high, candle.low, candle.close) for candle in self.candles)

    @property
    def highest(self) -> float:
        return max(max(candle.open, candle.high, candle.low, candle.close) for candle in self.candles)

    @property
    def most_volume(self) -> float:
        most = max(candle.volume for candle in self.candles)
        return most if most > NO_MOVE else 1.0
