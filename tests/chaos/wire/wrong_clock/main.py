"""A function of the project in a process whose clock is wrong by `CLOCK_AHEAD_SECONDS`.

It is the function that is deployed, composed as `flowcore.runtime` composes it but for the clock; nothing in there
knows of this.
"""

import importlib
import os
from datetime import datetime, timedelta

from flowcore import runtime
from flowcore.adapters.clock import SystemClock

AHEAD = timedelta(seconds=float(os.environ["CLOCK_AHEAD_SECONDS"]))
NAME = os.environ["FUNCTION_TARGET"]


class WrongClock(SystemClock):
    def now(self) -> datetime:
        return super().now() + AHEAD


setattr(runtime, "clock", WrongClock)  # noqa: B010 - the type of a cached function is not that of a class
globals()[NAME] = getattr(importlib.import_module(f"functions.{NAME}.main"), NAME)
