"""Trying again, within reason: a policy says how long to wait, a deadline says when there is no more time to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flowcore.domain.errors import NetworkError, StepError
from flowcore.domain.retry import Policy, next_delay
from flowcore.ports import Chance, Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    policy: Policy
    clock: Clock
    chance: Chance
    ends: float  # on the monotonic clock: nothing is begun after this

    def wait(self, failures: int, error: StepError | None = None) -> bool:
        """Wait as the policy says after so many failures. False, at once, when the policy or the time is used up."""
        delay = next_delay(self.policy, failures, self.chance.luck(), error)
        if delay is None or self.clock.monotonic() + delay >= self.ends:
            return False
        self.clock.sleep(delay)
        return True

    def persist(self, call: Callable[[], T]) -> T:
        """Call until it answers. Only silence is worth another try: a refusal would be repeated."""
        failures = 0
        while True:
            try:
                return call()
            except NetworkError as silence:
                failures += 1
                if not self.wait(failures, silence.error):
                    raise
