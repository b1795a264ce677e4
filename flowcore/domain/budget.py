"""What may still be begun before the platform ends the invocation.

A function that is killed by its timeout leaves a RUNNING step behind and a paid answer lost. So no call is begun that
cannot end while there is still time to record its result.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Seconds: for the whole invocation, for one call to a provider, and kept back to record the result."""

    invocation: float = 780.0
    provider: float = 600.0
    finalize: float = 120.0

    def problem(self) -> str | None:
        """Why these three cannot hold together; None when they can."""
        if min(self.invocation, self.provider, self.finalize) <= 0:
            return "every time limit must be above zero"
        if self.provider + self.finalize > self.invocation:
            return "the provider's time and the finalize reserve together exceed the invocation's time"
        return None

    def starting_at(self, started: float) -> Deadline:
        return Deadline(ends=started + self.invocation, reserve=self.finalize)


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the invocation ends, on a clock that never jumps, and the reserve at its end."""

    ends: float
    reserve: float

    def room(self, now: float) -> float:
        """Seconds that a call begun now may take at most."""
        return max(0.0, self.ends - self.reserve - now)
