"""The whole picture: a headline, the price, the strips below it, one axis of time, and one scale a strip.

Only the newest candles are shown, so that each can be seen; averages are computed from those before them too, so that
the first candle on the chart has its true average.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from flowcore.contracts.candles import Candle
from functions.worker_charts.drawing import marks, scales
from functions.worker_charts.drawing.canvas import Box, Canvas
from functions.worker_charts.drawing.scales import Scale
from functions.worker_charts.drawing.sheet import Sheet
from functions.worker_charts.drawing.studies import Pane, panes, unusable
from functions.worker_charts.drawing.themes import THEMES, WHITE, Theme

WIDTH, HEIGHT = 1200, 800
SHOWN = 180  # candles: about six pixels for each
REMEMBERED = 1200  # candles that the averages look at

LEFT, TOP, BOTTOM = 14, 70, HEIGHT - 34
GAP = 10
LEGEND = 26  # at the top of each strip, kept free of curves
SMALL, MEDIUM, LARGE = 13, 14, 24


@dataclass(frozen=True, slots=True)
class Headline:
    symbol: str
    timeframe: str
    description: str


def draw(
    headline: Headline,
    request: Mapping[str, object],
    candles: Sequence[Candle],
    *,
    known: int,
    zone: tzinfo,
    where: str,
) -> bytes:
    """A PNG of the newest candles, of the `known` that there are. `where` is the template's place, for messages."""
    style, theme = request.get("style", "candle"), request.get("theme", "light")
    if style != "candle":
        raise unusable(f"{where}.style: only 'candle' is drawn here; CHARTS_RENDERER=chart_img knows others")
    if not isinstance(theme, str) or theme not in THEMES:
        raise unusable(f"{where}.theme must be one of {', '.join(THEMES)}")
    remembered = candles[-REMEMBERED:]
    price, *below = panes(request, remembered, where)
    figure = _Figure(THEMES[theme], remembered[-SHOWN:], known, zone)
    figure.headline(headline)
    first, *others = _boxes(figure.sheet.right, 1 + len(below))
    figure.time_axis([first, *others])
    figure.price(price, first)
    for pane, box in zip(below, others, strict=True):
        figure.below(pane, box)
    return figure.sheet.canvas.png(THEMES[theme].palette)


class _Figure:
    def __init__(self, theme: Theme, candles: Sequence[Candle], known: int, zone: tzinfo) -> None:
        canvas = Canvas(WIDTH, HEIGHT, theme.paper)
        self._digits = scales.price_digits(candles[-1].close)
        self._known = known
        self._times = [candle.time.astimezone(zone) for candle in candles]
        widest = max(canvas.width_of(self._price(value), SMALL) for value in (candles[-1].close, candles[-1].high))
        self.sheet = Sheet(canvas, theme, candles, LEFT, WIDTH - max(78, round(widest) + 18))

    # --- around the strips -------------------------------------------------------------------------------

    def headline(self, headline: Headline) -> None:
        sheet, canvas, faint = self.sheet, self.sheet.canvas, self.sheet.theme.faint
        last = sheet.candles[-1]
        before = sheet.candles[-2].close if len(sheet.candles) > 1 else last.open
        change = (last.close / before - 1) * 100 if before else 0.0
        colour = sheet.theme.rising if change >= 0 else sheet.theme.falling
        x = canvas.text((LEFT, 24), headline.symbol, sheet.theme.text, LARGE) + 12
        x = canvas.text((x, 25), headline.timeframe, faint, 20) + 18
        x = canvas.text((x, 24), self._price(last.close), colour, LARGE) + 12
        canvas.text((x, 25), f"{change:+.2f}%", colour, 18)
        prices = (("O", last.open), ("H", last.high), ("L", last.low), ("C", last.close))
        words = "   ".join(f"{name} {self._price(value)}" for name, value in prices)
        canvas.text((sheet.right, 25), f"{words}   Vol {scales.short(last.volume)}", faint, MEDIUM, "rm")
        canvas.text((LEFT, 51), headline.description, faint, MEDIUM)
        canvas.text((sheet.right, 51), f"{scales.span_of_time(self._times)} · {self._count()}", faint, MEDIUM, "rm")

    def time_axis(self, boxes: Sequence[Box]) -> None:
        sheet = self.sheet
        for index, word in scales.date_ticks(self._times, apart=60 / sheet.slot):
            for _, top, _, bottom in boxes:
                sheet.canvas.upright(sheet.x(index), top, bottom, sheet.theme.grid)
            sheet.canvas.text((sheet.x(index), BOTTOM + 17), word, sheet.theme.faint, SMALL, "mm")

    # --- the strips --------------------------------------------------------------------------------------

    def price(self, pane: Pane, box: Box) -> None:
        sheet, last = self.sheet, self.sheet.candles[-1]
        # A far-off average may leave the picture; a candle may not.
        low, high = scales.padded(sheet.lowest, sheet.highest)
        foot = round((box[3] - box[1]) * 0.2) if pane.volume else 0
        scale = Scale(low, high, box[1] + LEGEND, box[3] - foot)
        marks.shading(sheet, pane, box, scale)
        digits = scales.decimals(scales.round_step(low, high, 9))
        for value in scales.ticks(low, high, 9):
            self._level(box, scale, value, scales.figure(value, digits), tag=scale.y(last.close))
        if pane.profile:
            marks.profile(sheet, box, scale)
        if pane.volume:
            marks.volume(sheet, Scale(0, sheet.most_volume, box[3] - foot, box[3]), strength=0.4)
        marks.candles(sheet, scale)
        marks.curves(sheet, pane, box, scale)
        self._frame(box)
        self._legend(pane, box, self._digits)
        self._tag(scale, last)

    def below(self, pane: Pane, box: Box) -> None:
        sheet = self.sheet
        low, high = pane.limits or self._range(pane)
        scale = Scale(low, high, box[1] + LEGEND, box[3] if pane.volume else box[3] - 6)
        step = scales.round_step(low, high, 4)
        large = max(abs(low), abs(high)) >= 10_000
        if pane.guides:
            upper, lower = round(scale.y(pane.guides[1])), round(scale.y(pane.guides[0]))
            sheet.canvas.box((box[0], upper, box[2], lower), sheet.theme.washed(sheet.theme.curves[2], 0.08))
        for value in pane.guides or scales.ticks(low, high, 4):
            words = scales.short(value) if large else scales.figure(value, scales.decimals(step))
            self._level(box, scale, value, words, guide=bool(pane.guides) or value == 0)
        if pane.volume:
            marks.volume(sheet, scale, strength=0.76)
        marks.columns(sheet, pane.columns, scale)
        marks.curves(sheet, pane, box, scale)
        self._frame(box)
        self._legend(pane, box, None if large else scales.decimals(step / 100))

    def _range(self, pane: Pane) -> tuple[float, float]:
        if pane.volume:
            return 0.0, self.sheet.most_volume
        rows = [curve.values for curve in pane.curves] + [pane.columns]
        values = [value for row in rows for value in self.sheet.newest(row) if value is not None]
        return scales.padded(min(values, default=0.0), max(values, default=1.0))

    # --- words and lines ---------------------------------------------------------------------------------

    def _legend(self, pane: Pane, box: Box, digits: int | None) -> None:
        """The name of each curve in its own colour, with its last value; in units where there are no digits."""
        sheet, theme = self.sheet, self.sheet.theme
        words = [(pane.label, theme.text)]
        words += [
            (f"{curve.label} {_told(curve.values[-1], digits)}".strip(), sheet.colour(curve))
            for curve in (*pane.curves, *pane.dots)
        ]
        if pane.volume:
            words.append((f"Volume {scales.short(sheet.candles[-1].volume)}", theme.faint))
        if pane.profile:
            rising, falling = theme.curves[:2]
            words += [("Volume profile", theme.text), ("rising candles", rising), ("falling candles", falling)]
        x = box[0] + 10.0
        for text, colour in words:
            if text:
                x = sheet.canvas.text((x, box[1] + 13), text, colour, SMALL, around=theme.paper) + 14

    def _level(
        self, box: Box, scale: Scale, value: float, words: str, *, guide: bool = False, tag: float | None = None
    ) -> None:
        """A line across the strip and its value on the axis, unless the tag of the last price is in the way."""
        y, theme = round(scale.y(value)), self.sheet.theme
        self.sheet.canvas.across(box[0], box[2], y, theme.frame if guide else theme.grid, dash=4 if guide else 0)
        if tag is None or abs(y - tag) > 17:
            self.sheet.canvas.text((box[2] + 8, min(y, box[3] - 7)), words, theme.faint, SMALL)

    def _tag(self, scale: Scale, last: Candle) -> None:
        sheet, colour, y = self.sheet, self.sheet.direction(last), round(scale.y(last.close))
        sheet.canvas.across(sheet.left, sheet.right, y, colour, dash=3)
        sheet.canvas.box((sheet.right + 1, y - 10, WIDTH - 2, y + 11), colour)
        sheet.canvas.text((sheet.right + 8, y), self._price(last.close), WHITE, SMALL)

    def _frame(self, box: Box) -> None:
        self.sheet.canvas.upright(box[2], box[1], box[3] + 1, self.sheet.theme.frame)
        self.sheet.canvas.across(box[0], box[2] + 1, box[3], self.sheet.theme.frame)

    def _price(self, value: float) -> str:
        return scales.figure(value, self._digits)

    def _count(self) -> str:
        shown = len(self.sheet.candles)
        if shown < self._known:
            return f"{shown} of {self._known:,} candles"
        return "1 candle" if shown == 1 else f"{shown} candles"


def _boxes(right: int, strips: int) -> Iterator[Box]:
    """The price gets what the others leave: a quarter of the height each, less when there are many."""
    height = BOTTOM - TOP
    below = round(height * min(0.25, 0.6 / max(1, strips - 1)))
    y = TOP
    for number in range(strips):
        bottom = y + (height - below * (strips - 1) if number == 0 else below - GAP)
        yield LEFT, y, right, bottom
        y = bottom + GAP


def _told(value: float | None, digits: int | None) -> str:
    if value is None:
        return "needs more candles"
    return scales.short(value) if digits is None else scales.figure(value, digits)
