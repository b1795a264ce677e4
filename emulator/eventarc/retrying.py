"""When a failed event is sent again: after 10 to 600 seconds, ever later, for a day. In seconds of the cloud."""

import random
from typing import Final

SHORTEST: Final = 10.0
LONGEST: Final = 600.0
KEPT_FOR: Final = 24 * 3600.0


def next_delay(attempts: int, age: float, chance: random.Random) -> float | None:
    """How long to wait after so many failed attempts; none when the event will be given up before."""
    ceiling = min(LONGEST, SHORTEST * 2 ** min(attempts, 10))
    delay = chance.uniform(SHORTEST, ceiling)  # spread: what failed together shall not come back together
    return delay if age + delay <= KEPT_FOR else None
