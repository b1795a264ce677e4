"""What a battery of the chaos suite is: so many cases, so many faults that really happened, and what was broken.

A battery is asked for a number of cases and a seed. The same seed is the same cases in the same order, so a violation
can be looked at again: it names its seed. A battery that runs out of time says how many cases it did.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

BETWEEN_WORDS = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """`planned`: how many cases there are, where only the battery finds that out. `figures`: what else was measured."""

    name: str
    cases: int
    faults_fired: int
    violations: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    planned: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """How much is wanted: `cases` at most, none begun after `ends` on the monotonic clock."""

    seed: int
    cases: int
    ends: float

    @property
    def time_is_up(self) -> bool:
        return time.monotonic() >= self.ends


@dataclass(frozen=True, slots=True)
class Battery:
    """`cases` is the full form; `share` is its part of the time when all run: about its minutes on two cores."""

    name: str
    cases: int
    share: float
    run: Callable[[Order], Outcome]


def listed(fired: Counter[str]) -> str:
    """How often each kind of fault happened, the most frequent first."""
    return ", ".join(f"{count:,} × {kind}" for kind, count in (+fired).most_common())


@dataclass(slots=True)
class Progress:
    """A line on stderr now and then: somebody may be waiting."""

    name: str
    cases: int
    began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)

    def tell(self, done: int, violations: int) -> None:
        now = time.monotonic()
        if now - self._last < BETWEEN_WORDS:
            return
        self._last = now
        said = f"{self.name}: {done:,} of {self.cases:,} cases, {violations} violations, {now - self.began:.0f} s"
        print(said, file=sys.stderr, flush=True)
