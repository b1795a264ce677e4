"""Real time and real chance."""

from __future__ import annotations

import random
import time
import uuid
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemChance:
    def token(self) -> str:
        return uuid.uuid4().hex

    def luck(self) -> float:
        return random.random()  # noqa: S311 - jitter is no secret
