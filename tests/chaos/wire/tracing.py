"""The undisturbed run: where something may go wrong although nothing did, and how it ends."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.wire.arena import Arena
from tests.chaos.wire.flow import run_id_of
from tests.chaos.wire.points import Loss, Point, Problem, points_of
from tests.chaos.wire.verdict import Ending, ending

OVER_WITHIN = 120.0  # seconds


@dataclass(frozen=True, slots=True)
class Undisturbed:
    ending: Ending
    points: tuple[Point, ...]  # the calls of a run that events move on
    swept: tuple[Point, ...]  # the writes of one that `sweep` moves on, and sweep's own queries
    cold: tuple[Point, ...]  # what only a process asks that has just been started

    @property
    def digest(self) -> str:
        """The same for the same points: a seed draws the same cases from them."""
        points = sorted(map(str, self.points)), sorted(map(str, self.swept)), sorted(map(str, self.cold))
        return hashlib.sha256(repr(points).encode()).hexdigest()[:8]

    @classmethod
    def traced(cls, arena: Arena) -> Undisturbed:
        """The first run warms the processes up. While the second is traced nobody sweeps, and then nobody else does."""
        first = _trace(arena, "cold")
        with arena.between_sweeps:
            points = _trace(arena, "warm")
            start = len(arena.book.so_far())
            arena.sweep()
            queries = points_of(arena.book.so_far()[start:], "nobody's")
        moved = _trace(arena, "swept", [Loss("advance_flow")])
        swept = [point for point in moved if point.method == "Commit" and point.nth > 0]
        cold = [point for point in first if not (point.of_a_run or point.of_sweep or point in points)]
        return cls(ending(arena, run_id_of("warm")), tuple(points), tuple(swept + queries), tuple(cold))


def _trace(arena: Arena, key: str, problems: Sequence[Problem] = ()) -> list[Point]:
    start, run_id, ends = len(arena.book.so_far()), run_id_of(key), time.monotonic() + OVER_WITHIN
    with arena.sky.planned(run_id, problems):
        for broken in arena.begin(key):
            raise RuntimeError(broken)
        while not arena.book.life(run_id).over:
            if time.monotonic() > ends:
                raise RuntimeError(f"{key}: does not come to its end although nothing disturbs it but {problems}")
            arena.rest(run_id, lambda: time.monotonic() > ends)
    return points_of(arena.book.so_far()[start:], run_id)
