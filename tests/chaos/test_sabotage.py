"""The batteries can fail: three deliberate bugs, each in the real source, and each is noticed soon.

A bug is a replacement of text in a module of the engine (as in tests/mutants); the module is then made anew from the
broken text and put into the simulation, and the module that everybody else uses stays as it is.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from flowcore.engine import sweep, worker
from tests.chaos.battery import Order, Outcome
from tests.chaos.inputs import stage
from tests.chaos.inputs.twins import BATTERIES as INPUTS
from tests.chaos.twins.batteries import judged
from tests.chaos.twins.simulation import Kernel
from tests.mutants.catalogue import Mutant
from tests.mutants.workbench import mutated

CASES = 300

NO_PRECONDITION = Mutant(
    "finalize writes what it decided long ago, over whatever is there now",
    "flowcore/engine/worker.py",
    'done = self._update(snapshot, lambda run: finalize(run, self.token, outcome, now()), "finalize")',
    "done = _overwritten(self.worker.runs, snapshot, finalize(parse_run(snapshot), self.token, outcome, now()))",
)
OVERWRITING = """

def _overwritten(runs, snapshot, patch):
    there = runs.get(snapshot.run_id)
    runs.update(snapshot.run_id, patch, there.update_time)
    return Updated(there, parse_run(there), patch, 0)
"""
NO_LOOK_UP = Mutant(
    "a worker pays without looking for the object",
    "flowcore/engine/worker.py",
    "found = results.existing(run.run_id, step, name)\n            if found:",
    "found = None\n            if found:",
)
NO_SWEEP = Mutant(
    "sweep sees no run",
    "flowcore/engine/sweep.py",
    "for snapshot in self.runs.unfinished() if full else self.runs.due(self.clock.now()):",
    "for snapshot in ():",
)


STOPPED_BY_ONE = Mutant(
    "sweep goes no further when it cannot write to a run",
    "flowcore/engine/sweep.py",
    "failed += 1",
    "break",
)


def test_the_engine_as_it_is_passes() -> None:
    outcome = judged("storms", Order(seed=7, cases=60, ends=time.monotonic() + 60), Kernel())
    assert outcome.violations == ()
    assert outcome.cases == 60


def test_a_finalize_without_precondition_is_caught() -> None:
    with _made_anew(worker, NO_PRECONDITION, OVERWRITING) as broken:
        outcome = _judged("storms", Kernel(worker=broken.Worker))
    assert any("went from" in law or "FAILED by" in law for law in outcome.violations)


def test_a_worker_that_does_not_look_for_its_object_is_caught() -> None:
    with _made_anew(worker, NO_LOOK_UP) as broken:
        kernel = Kernel(worker=broken.Worker)
        storms, pairs = _judged("storms", kernel), _judged("pairs", kernel)
    for outcome in (storms, pairs):
        assert any("without looking" in law for law in outcome.violations)


@pytest.mark.parametrize("battery", ["storms", "pairs", "dropped"])
def test_a_sweep_that_does_nothing_is_caught(battery: str) -> None:
    with _made_anew(sweep, NO_SWEEP) as broken:
        outcome = _judged(battery, Kernel(sweep=broken.Sweep))
    assert any("is still" in law or "come to rest" in law for law in outcome.violations)


def test_a_sweep_that_one_run_can_stop_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = next(battery for battery in INPUTS if battery.name == "bad input: run documents")
    order = Order(seed=7, cases=20, ends=time.monotonic() + 60)
    assert documents.run(order).violations == ()
    with _made_anew(sweep, STOPPED_BY_ONE) as broken:
        monkeypatch.setattr(stage, "Sweep", broken.Sweep)
        outcome = documents.run(order)
    assert any("is stuck" in law for law in outcome.violations)


def _judged(battery: str, kernel: Kernel) -> Outcome:
    return judged(battery, Order(seed=7, cases=CASES, ends=time.monotonic() + 60), kernel)


@contextmanager
def _made_anew(module: ModuleType, bug: Mutant, more: str = "") -> Iterator[ModuleType]:
    """The module with the bug in it, under a name of its own."""
    broken = ModuleType(f"{module.__name__}_broken")
    sys.modules[broken.__name__] = broken  # where dataclasses look for it
    try:
        source = mutated(inspect.getsource(module), bug) + more
        exec(compile(source, f"<{bug.name}>", "exec"), broken.__dict__)
        yield broken
    finally:
        del sys.modules[broken.__name__]
