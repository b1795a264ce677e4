"""Trying again, within reason: a policy says how long to wait, a deadline says when there is no more time to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flowcore.domain.errors import NetworkError, StepError
from flowcore.domain.retry import Policy, next_delay
from flowcore.ports import Chance, Clock

T = TypeVar("T")

_A_MOMENT = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    silence: Policy  # when nobody answers
    clock: Clock
    chance: Chance
    ends: float  # on the monotonic clock: nothing is begun after this
    races: Policy | None = None  # when somebody else was faster

    def after_race(self, lost: int) -> bool:
        """Wait before deciding anew. False, at once, when the policy or the time is used up."""
        return self.races is not None and self._wait(self.races, lost, None)

    def after_silence(self, failures: int, error: StepError) -> bool:
        """Wait before asking again, as long as the other side wished if it said so."""
        return self._wait(self.silence, failures, error)

    def room(self) -> float:
        """Seconds that a call begun now may take. Never nothing: what was begun gets a moment to end."""
        return max(_A_MOMENT, self.ends - self.clock.monotonic())

    def persist(self, call: Callable[[float], T]) -> T:
        """Call, with the time it may take, until it answers. Only silence is worth another try: a refusal stays one."""
        failures = 0
        while True:
            try:
                return call(self.room())
            except NetworkError as silence:
                failures += 1
                if not self.after_silence(failures, silence.error):
                    raise

    def _wait(self, policy: Policy, failures: int, error: StepError | None) -> bool:
        delay = next_delay(policy, failures, self.chance.luck(), error)
        if delay is None or self.clock.monotonic() + delay >= self.ends:
            return False
        self.clock.sleep(delay)
        return True
