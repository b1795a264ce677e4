"""Many runs, and many steps in one: a few dozen here, a thousand and a hundred with `make chaos`."""

from __future__ import annotations

import time

from tests.chaos.battery import Order
from tests.chaos.load import crowd, fan


def test_runs_that_come_at_once_all_succeed() -> None:
    outcome = crowd.run(Order(seed=1, cases=30, ends=time.monotonic() + 90))
    assert outcome.violations == ()
    assert outcome.cases == 30


def test_parallel_steps_all_succeed_though_their_document_takes_one_write_a_second() -> None:
    outcome = fan.run(Order(seed=1, cases=12, ends=time.monotonic() + 90))
    assert outcome.violations == ()
    assert outcome.faults_fired > 0  # on a slow machine few are in each other's way
