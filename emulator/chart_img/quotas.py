"""What each key may still have today. The day is that of UTC, and a call counts when the key is let in."""

import threading
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from emulator.chart_img.orders import Refused

DAY: Final = 86_400
CHARTS_A_DAY: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits of a paid plan of the real service, which sells several."""

    daily: int = CHARTS_A_DAY
    width: int = 1920
    height: int = 1080
    parameters: int = 5  # studies and drawings together


class Quotas:
    def __init__(self, plan: Plan, keys: Collection[str] | None, clock: Callable[[], float]) -> None:
        self.plan: Final = plan
        self._keys = keys
        self._clock = clock
        self._limits: dict[str, int] = {}
        self._used: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def limit(self, key: str, daily: int) -> None:
        """From now on this key has another limit than the plan's."""
        with self._lock:
            self._limits[key] = daily

    def used(self, key: str) -> int:
        with self._lock:
            return self._used[key, self._today()]

    def admit(self, key: str | None) -> None:
        """Count one call, or refuse it in the words of the gateway."""
        if not key or (self._keys is not None and key not in self._keys):
            raise Refused(403, "Forbidden")
        with self._lock:
            today = key, self._today()
            if self._used[today] >= self._limits.get(key, self.plan.daily):
                raise Refused(429, "Limit Exceeded")
            self._used[today] += 1

    def clear(self) -> None:
        with self._lock:
            self._limits.clear()
            self._used.clear()

    def _today(self) -> int:
        return int(self._clock() // DAY)
