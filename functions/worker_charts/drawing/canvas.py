"""Pillow, and nothing about charts: flat shapes on whole pixels, text, and curves without steps.

Pillow draws lines with hard edges. Rectangles on whole pixels want exactly that; a curve does not, so it is drawn
several times too large into a mask and reduced. Only its own strip is enlarged: that keeps a chart at a few
hundredths of a second.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from math import ceil, floor
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from functions.worker_charts.drawing.themes import Colour

Point = tuple[float, float]
Box = tuple[int, int, int, int]
Anchor = Literal["lm", "rm", "mm"]  # left, right or middle of the words; the height is always their middle

FINER = 3
HALO = 3


class Canvas:
    def __init__(self, width: int, height: int, paper: Colour) -> None:
        self._image = Image.new("RGB", (width, height), paper)
        self._draw = ImageDraw.Draw(self._image)

    def box(self, box: Box, fill: Colour) -> None:
        """From the first corner up to, but not including, the second; never thinner than a pixel."""
        left, top, right, bottom = box
        self._draw.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), fill=fill)

    def across(self, left: int, right: int, y: int, colour: Colour, dash: int = 0) -> None:
        """A level line, one pixel high."""
        if not dash:
            self.box((left, y, right, y + 1), colour)
        for start in range(left, right, 2 * dash) if dash else ():
            self.box((start, y, min(start + dash, right), y + 1), colour)

    def upright(self, x: int, top: int, bottom: int, colour: Colour) -> None:
        self.box((x, top, x + 1, bottom), colour)

    def shade(self, upper: Sequence[Point], lower: Sequence[Point], colour: Colour) -> None:
        """The room between two curves."""
        if len(upper) > 1:
            self._draw.polygon([*upper, *reversed(lower)], fill=colour)

    def curve(self, points: Iterable[Point | None], within: Box, colour: Colour, width: float = 1.6) -> None:
        """A smooth line through the points, broken where one is missing, never outside of `within`."""
        runs = [_present(run) for present, run in groupby(points, lambda point: point is not None) if present]
        with self._finer(runs, within, colour, width) as (pen, finer):
            stroke = round(width * FINER)
            for run in runs:
                path = [finer(point) for point in run]
                if len(path) > 1:
                    pen.line(path, fill=255, width=stroke, joint="curve")
                else:
                    _disc(pen, path[0], stroke)

    def dots(self, points: Iterable[Point | None], within: Box, colour: Colour, radius: float) -> None:
        centres = _present(points)
        with self._finer([centres], within, colour, radius) as (pen, finer):
            for centre in centres:
                _disc(pen, finer(centre), radius * FINER)

    @contextmanager
    def _finer(
        self, runs: Iterable[Sequence[Point]], within: Box, colour: Colour, around: float
    ) -> Iterator[tuple[ImageDraw.ImageDraw, Callable[[Point], Point]]]:
        """A pen on a mask that is larger than the picture, and how to get there; its ink is put on at the end."""
        left, top, right, bottom = within
        heights = [y for run in runs for _, y in run] or [top]
        top = max(top, floor(min(heights) - around) - 1)
        bottom = max(top + 1, min(bottom, ceil(max(heights) + around) + 1))
        mask = Image.new("L", ((right - left) * FINER, (bottom - top) * FINER))
        yield ImageDraw.Draw(mask), lambda point: ((point[0] - left) * FINER, (point[1] - top) * FINER)
        self._image.paste(colour, (left, top), mask.reduce(FINER))

    def text(
        self, at: Point, words: str, colour: Colour, size: int, anchor: Anchor = "lm", *, around: Colour | None = None
    ) -> float:
        """Returns where it ends, if it began at the left. A colour around the letters sets them off from curves."""
        font = _font(size)
        if around:
            self._draw.text(at, words, around, font, anchor, stroke_width=HALO, stroke_fill=around)
        self._draw.text(at, words, colour, font, anchor)
        return at[0] + self.width_of(words, size)

    def width_of(self, words: str, size: int) -> float:
        return _font(size).getlength(words)

    def png(self, palette: Sequence[Colour]) -> bytes:
        """In these colours alone: half the bytes and half the time of a picture in all colours."""
        colours = Image.new("P", (1, 1))
        colours.putpalette([part for colour in palette for part in colour])
        buffer = io.BytesIO()
        self._image.quantize(palette=colours, dither=Image.Dither.NONE).save(buffer, "PNG")
        return buffer.getvalue()


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("this Pillow was built without FreeType; text cannot be drawn in sizes")
    return font


def _disc(pen: ImageDraw.ImageDraw, centre: Point, radius: float) -> None:
    x, y = centre
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _present(points: Iterable[Point | None]) -> list[Point]:
    return [point for point in points if point is not None]
