"""What can be drawn into a strip of the sheet. Bars lie on whole pixels and stay sharp; curves are smooth."""

from __future__ import annotations

from functions.worker_charts.drawing.canvas import Box
from functions.worker_charts.drawing.indicators import Values, volume_profile
from functions.worker_charts.drawing.scales import Scale
from functions.worker_charts.drawing.sheet import Sheet
from functions.worker_charts.drawing.studies import Pane

PROFILE_ROWS = 40
PROFILE_SHARE = 0.3  # of the strip's width, for the busiest row


def candles(sheet: Sheet, scale: Scale) -> None:
    half = sheet.bar(0.7) // 2
    for index, candle in enumerate(sheet.candles):
        x, colour = sheet.x(index), sheet.direction(candle)
        top, bottom = (round(scale.y(value)) for value in (candle.high, candle.low))
        sheet.canvas.upright(x, top, bottom + 1, colour)
        first, last = sorted(round(scale.y(value)) for value in (candle.open, candle.close))
        sheet.canvas.box((x - half, first, x + half + 1, last + 1), colour)


def volume(sheet: Sheet, scale: Scale, strength: float) -> None:
    half, bottom = sheet.bar(0.7) // 2, round(scale.bottom)
    for index, candle in enumerate(sheet.candles):
        if candle.volume > 0:
            x, top = sheet.x(index), min(round(scale.y(candle.volume)), bottom - 1)
            colour = sheet.theme.washed(sheet.direction(candle), strength)
            sheet.canvas.box((x - half, top, x + half + 1, bottom), colour)


def columns(sheet: Sheet, values: Values, scale: Scale) -> None:
    """A histogram around zero, paler where it shrinks: the turn shows before the sign changes."""
    half, before = sheet.bar(0.5) // 2, 0.0
    for index, value in enumerate(sheet.newest(values)):
        if value is not None:
            x, (top, bottom) = sheet.x(index), sorted((round(scale.y(value)), round(scale.y(0))))
            colour = sheet.theme.rising if value >= 0 else sheet.theme.falling
            strength = 0.84 if abs(value) >= abs(before) else 0.44
            sheet.canvas.box((x - half, top, x + half + 1, bottom), sheet.theme.washed(colour, strength))
            before = value


def profile(sheet: Sheet, box: Box, scale: Scale) -> None:
    """How much was traded at each height, from the right; the busiest row stands out."""
    low, high = sheet.lowest, sheet.highest
    rows = volume_profile(sheet.candles, low, high, PROFILE_ROWS)
    most = max(map(sum, rows)) or 1.0
    edges = [round(scale.y(low + number * (high - low) / PROFILE_ROWS)) for number in range(PROFILE_ROWS + 1)]
    for row, bottom, top in zip(rows, edges, edges[1:], strict=False):
        right, strength = box[2], 0.56 if sum(row) == most else 0.28
        for share, colour in zip(row, sheet.theme.curves, strict=False):
            left = right - round(share / most * PROFILE_SHARE * (box[2] - box[0]))
            if left < right:
                sheet.canvas.box((left, top + 1, right, bottom), sheet.theme.washed(colour, strength))
            right = left


def shading(sheet: Sheet, pane: Pane, box: Box, scale: Scale) -> None:
    """Under the grid, so that the lines stay even."""
    for low, high in pane.bands:
        pairs = zip(sheet.points(high.values, scale), sheet.points(low.values, scale), strict=True)
        both = [(_inside(upper, box), _inside(lower, box)) for upper, lower in pairs if upper and lower]
        colour = sheet.theme.washed(sheet.colour(low), 0.08)
        sheet.canvas.shade([upper for upper, _ in both], [lower for _, lower in both], colour)


def curves(sheet: Sheet, pane: Pane, box: Box, scale: Scale) -> None:
    for curve in pane.curves:
        sheet.canvas.curve(sheet.points(curve.values, scale), box, sheet.colour(curve))
    for dots in pane.dots:
        radius = max(1.2, min(2.6, sheet.slot * 0.3))
        sheet.canvas.dots(sheet.points(dots.values, scale), box, sheet.colour(dots), radius)


def _inside(point: tuple[float, float], box: Box) -> tuple[float, float]:
    return point[0], min(max(point[1], box[1]), box[3])
