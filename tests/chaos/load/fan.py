"""A hundred steps side by side in one run, whose document takes one write a second, as the cloud's does.

Two hundred writes want through that door at once, so most of them are turned away most of the time: nothing may be lost
or done twice, and nobody may give up. Time runs faster for everybody alike (functions, platform and limit), so that
minutes pass in seconds.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from emulator.platform import Platform
from flowcore import runtime
from flowcore.domain.times import to_text
from flowcore.testing.builders import a_run, a_step
from tests.chaos.auditor import Auditor
from tests.chaos.battery import Battery, Order, Outcome
from tests.chaos.load.listening import Listener
from tests.functions.hosting import Guest, hosted
from tests.functions.system import System, forget_wiring

NAME: Final = "load: parallel steps under the write limit"
SCALE: Final = 20.0  # seconds that pass in one
RUN: Final = "load-fan"
SWEEP_EVERY: Final = 60.0 / SCALE
LONGEST: Final = 4 * 3600.0 / SCALE
BURST: Final = 2.0
CHEAP: Final = Guest(Path(__file__).parent / "cheap", runs="load*")


class FastClock:
    """As a clock that runs ahead, for all threads alike: waiting is real, and short."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._then = datetime.now(UTC)

    def now(self) -> datetime:
        return self._then + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * SCALE

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / SCALE)


def run(order: Order) -> Outcome:
    """As many steps as cases are wanted."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    forget_wiring()
    with Platform(time_scale=SCALE) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        with hosted(platform, guests=[CHEAP]) as system:
            clock = FastClock()
            patch.setattr(runtime, "clock", lambda: clock)
            system.renew()
            limit = platform.faults.limit_writes(SCALE, burst=BURST, resource=f"flow_runs/{RUN}")
            # Clocks here run ahead of those of the records, so that nobody can say whether a lease has ended.
            listener = Listener(platform.faults.history, system.storage, Auditor(skew=None))
            began = time.monotonic()
            after = _played(system, clock, order, listener)
            seconds = (time.monotonic() - began) * SCALE
            violations = [*_broken(system, after, order.cases), *listener.verdict()]
            figures = _figures(system, order.cases, seconds, limit.fired)
    return Outcome(NAME, order.cases, limit.fired, tuple(f"{NAME}: {broken}" for broken in violations), (figures,))


def _played(system: System, clock: FastClock, order: Order, listener: Listener) -> dict[str, Any]:
    now = clock.now()
    steps = {f"s{number:03}": a_step("CHEAP", at=now) for number in range(order.cases)}
    document = a_run("PENDING", run_id=RUN, steps=steps, at=now)
    system.put(f"flow_runs/{RUN}", {**document, "createdAt": to_text(now)})
    ends = time.monotonic() + LONGEST  # all of it is begun at once, so all of it is waited for
    swept = time.monotonic()
    while time.monotonic() < ends and system.run(RUN)["status"] not in ("SUCCEEDED", "FAILED", "CANCELLED"):
        time.sleep(0.1)
        listener.listen()
        if time.monotonic() - swept > SWEEP_EVERY:
            system.call("sweep")
            swept = time.monotonic()
    return system.run(RUN)


def _broken(system: System, after: dict[str, Any], count: int) -> list[str]:
    statuses = [step["status"] for step in after["steps"].values()]
    found = []
    if after["status"] != "SUCCEEDED" or statuses.count("SUCCEEDED") != count:
        found.append(f"the run is {after['status']}, {statuses.count('SUCCEEDED')} of {count} steps SUCCEEDED")
    objects = [name for name in system.objects() if name.startswith(f"runs/{RUN}/")]
    if len(objects) != count:
        found.append(f"{len(objects)} objects of {count} steps")
    again = [step_id for step_id, step in after["steps"].items() if step.get("attempt") != 1]
    if again:
        found.append(f"{len(again)} steps took more than one claim, {again[0]} for one")
    return found


def _figures(system: System, count: int, seconds: float, turned_away: int) -> str:
    writes = len(system.writes(RUN)) - 1  # all but the one that begins the run
    commits = system.calls("firestore", "Commit", f"*{RUN}") - 1
    failed = [
        outcome for name in ("advance_flow", "cheap") for outcome in system.outcomes(name) if outcome != "delivered"
    ]
    return (
        f"{count} steps in {seconds:.0f} s of its own time; {writes / count:.2f} writes a step, {commits} commits, "
        f"{turned_away} of them turned away by the limit and {commits - writes - turned_away} lost to conflicts; "
        f"{len(failed)} deliveries failed and came again"
    )


BATTERIES = (Battery(NAME, 100, 2.0, run),)
