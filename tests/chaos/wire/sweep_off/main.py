"""A bug: a sweep that answers as ever, and sees no run."""

import importlib
import os

from flowcore.engine.sweep import Sweep, SweepReport

NAME = os.environ["FUNCTION_TARGET"]


def _sees_nothing(_: Sweep) -> SweepReport:
    return SweepReport(seen=0, changed=0, failed=0, unfinished=False)


setattr(Sweep, "minutely", _sees_nothing)  # noqa: B010 - a method of another type
setattr(Sweep, "hourly", _sees_nothing)  # noqa: B010
globals()[NAME] = getattr(importlib.import_module("tests.chaos.wire.wrong_clock.main"), NAME)
