"""Colours. Two themes, and one row of colours for curves that is told apart on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
SHADES = 25


@dataclass(frozen=True, slots=True)
class Theme:
    paper: Colour
    grid: Colour
    frame: Colour
    text: Colour
    faint: Colour
    rising: Colour
    falling: Colour
    curves: tuple[Colour, ...]

    @property
    def palette(self) -> list[Colour]:
        """Every ink in every thinness, as smooth edges need them. A PNG takes 256 colours at most.

        The thinnest is left out: Pillow finds neighbours roughly, and would take it for the paper itself.
        """
        inks = (self.text, self.faint, self.rising, self.falling, *self.curves)
        thin = [self.washed(ink, step / SHADES) for ink in inks for step in range(2, SHADES + 1)]
        return [self.paper, self.grid, self.frame, WHITE, *thin]

    def washed(self, colour: Colour, strength: float) -> Colour:
        """The colour as it looks through thin paint on the paper."""
        red, green, blue = (
            round(paper + (full - paper) * strength) for paper, full in zip(self.paper, colour, strict=True)
        )
        return red, green, blue


THEMES: Mapping[str, Theme] = MappingProxyType(
    {
        "dark": Theme(
            paper=(16, 20, 28),
            grid=(33, 40, 52),
            frame=(56, 66, 82),
            text=(222, 227, 235),
            faint=(139, 149, 166),
            rising=(44, 177, 134),
            falling=(236, 88, 90),
            curves=((78, 154, 255), (255, 176, 58), (190, 128, 255), (64, 205, 220), (255, 124, 178)),
        ),
        "light": Theme(
            paper=(255, 255, 255),
            grid=(233, 236, 241),
            frame=(190, 197, 208),
            text=(34, 41, 54),
            faint=(110, 120, 136),
            rising=(20, 150, 108),
            falling=(216, 58, 62),
            curves=((30, 104, 222), (222, 128, 0), (136, 66, 214), (0, 146, 166), (210, 48, 128)),
        ),
    }
)
