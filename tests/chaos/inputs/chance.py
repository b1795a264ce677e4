"""Chance, as hypothesis has it: a string of bytes that it has drawn, read choice by choice.

Where the bytes end, and wherever they are zero, the first of all options is taken: so hypothesis makes a case smaller
by making its bytes smaller. One draw for each choice would take as long as playing the case does, and hypothesis would
make most cases by copying a choice of the last one.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
_BYTES: Final = 2  # of one choice
_CHOICES: Final = 160  # more than almost any case makes; hypothesis takes its time for each byte
_STREAM: Final = st.binary(min_size=_BYTES * _CHOICES, max_size=_BYTES * _CHOICES)
_PARTS: Final = 1000  # of a probability


class Chance:
    """`taken` is every choice so far: two cases that took the same are the same."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._stream = draw(_STREAM)
        self._read = 0
        self.taken: list[int | bytes] = []

    def randrange(self, start: int, stop: int | None = None) -> int:
        first, end = (0, start) if stop is None else (start, stop)
        drawn = int.from_bytes(self._stream[self._read : self._read + _BYTES])
        self._read += _BYTES
        self.taken.append(first + (drawn * (end - first) >> 8 * _BYTES))
        return first + (drawn * (end - first) >> 8 * _BYTES)

    def choice(self, options: Sequence[T]) -> T:
        return options[self.randrange(len(options))]

    def likely(self, probability: float) -> bool:
        return self.randrange(_PARTS) >= _PARTS * (1 - probability)

    def weighted(self, options: Mapping[T, float]) -> T:
        until = list(itertools.accumulate(options.values()))
        place = self.randrange(_PARTS) / _PARTS * until[-1]
        return list(options)[bisect_right(until, place)]

    def shuffle(self, items: list[T]) -> None:
        for place in range(len(items) - 1):
            other = self.randrange(place, len(items))
            items[place], items[other] = items[other], items[place]

    def randbytes(self, size: int) -> bytes:
        drawn = self._draw(st.binary(min_size=size, max_size=size))
        self.taken.append(drawn)
        return drawn
