"""How often, and how long between: one table, one row for each place where something can fail for a while.

The numbers are data so that they can be read, tested and compared in one place. Chance is an argument (`luck`, from
0 up to 1), so every delay can be computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType

from flowcore.domain.errors import StepError


@dataclass(frozen=True, slots=True)
class Policy:
    """`attempts` counts the first try too; None means: as long as the time budget lasts.

    A delay is drawn between `low` and `high` seconds, both multiplied by `factor` for each failure before, and never
    above `cap`. `first` replaces the range for the first retry: after a lost race there is nothing to wait for.
    """

    attempts: int | None
    low: float
    high: float
    factor: float = 2.0
    cap: float = 32.0
    first: tuple[float, float] | None = None


_AT_ONCE = (0.001, 0.01)
_OUTSIDE = Policy(attempts=5, low=0.5, high=1.0)

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        # Optimistic writes: the race is re-decided at once, then after 100 to 500 ms.
        "claim": Policy(attempts=4, low=0.1, high=0.5, factor=1.0, first=_AT_ONCE),
        "advance": Policy(attempts=8, low=0.1, high=0.5, factor=1.5, cap=5.0, first=_AT_ONCE),
        "sweep": Policy(attempts=5, low=0.1, high=0.5, factor=1.5, cap=5.0, first=_AT_ONCE),
        "finalize": Policy(attempts=None, low=0.1, high=0.5, factor=1.5, cap=5.0, first=_AT_ONCE),
        # Calls to the outside, inside one invocation. `firestore` is for silence, not for lost races; the last write
        # of a step is worth every second there is.
        "firestore": _OUTSIDE,
        "firestore_finalize": replace(_OUTSIDE, attempts=None),
        "gcs_read": _OUTSIDE,
        "gcs_write": _OUTSIDE,
        "bigquery": _OUTSIDE,
        "chart_img": Policy(attempts=3, low=0.25, high=0.5),
        "gemini": Policy(attempts=1, low=0.5, high=1.0),
        "gemini_repair": Policy(attempts=1, low=0.5, high=1.0),
        # Automatic retry of a whole step, by the orchestrator, as `notBefore`. Their number is the step's own
        # `retry.maxAttempts`.
        "step": Policy(attempts=None, low=7.5, high=15.0, cap=600.0),
    }
)


def next_delay(policy: Policy, failures: int, luck: float, error: StepError | None = None) -> float | None:
    """Seconds to wait after the given number of failures; None when the policy is used up."""
    if policy.attempts is not None and failures >= policy.attempts:
        return None
    if policy.first and failures <= 1:
        low, high = policy.first
    else:
        exponent = max(0, failures - (2 if policy.first else 1))
        # The cap holds long before the power could overflow.
        grown = policy.factor ** min(exponent, 64)
        low, high = min(policy.low * grown, policy.cap), min(policy.high * grown, policy.cap)
    delay = low + luck * (high - low)
    asked = error.retry_after if error else None
    return max(delay, asked) if asked else delay


def step_delay(run_id: str, step_id: str, attempt: int, failures: int, error: StepError | None) -> timedelta:
    """How long a failed step rests. The luck is a hash, so that whoever plans the run comes to the same moment."""
    digest = hashlib.sha256(f"{run_id}/{step_id}/{attempt}".encode("utf-8", "backslashreplace")).digest()
    luck = int.from_bytes(digest[:8]) / 2**64
    return timedelta(seconds=next_delay(POLICIES["step"], failures, luck, error) or 0.0)
