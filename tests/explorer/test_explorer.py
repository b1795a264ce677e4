"""The short form of `make explore`, and the proof that it can fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from flowcore.domain import lifecycle, plan
from flowcore.domain.model import Run, Step, StepStatus
from tests.explorer.scenarios import FAULTS, SCENARIOS, Budget, Scenario
from tests.explorer.search import Search
from tests.explorer.story import told

SINGLE = SCENARIOS[0]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_law_holds_with_any_single_fault(scenario: Scenario) -> None:
    search = Search(scenario, Budget(each=1, together=1)).run(seconds=60)
    assert [told(search, violation) for violation in search.violations] == []
    assert search.closed


def test_one_step_survives_any_three_faults_together() -> None:
    search = Search(SINGLE, Budget(each=2, together=3)).run(seconds=60)
    assert [told(search, violation) for violation in search.violations] == []
    assert search.closed
    assert all(search.faults[name] for name in FAULTS), "every kind of fault must have happened"


def test_the_explorer_is_deterministic() -> None:
    first, second = (Search(SINGLE, Budget(1, 2)).run(seconds=60) for _ in range(2))
    assert list(first.parents) == list(second.parents)


def _anybody_holds(run: Run, token: str) -> Step | None:
    return next(iter(run.in_status(StepStatus.RUNNING)), None)


def _nothing_is_due(run: Run, now: datetime) -> datetime | None:
    moments = [step.lease_ends(plan.DEFAULT_LEASE) for step in run.in_status(StepStatus.RUNNING)]
    return min((moment for moment in moments if moment), default=None)


@pytest.mark.parametrize(
    ("module", "name", "broken", "law"),
    [
        (lifecycle, "held", _anybody_holds, "holding"),
        (plan, "wake_at", _nothing_is_due, "wakeAt"),
    ],
    ids=["no token check", "an alarm clock that knows only leases"],
)
def test_a_broken_kernel_is_found_and_its_story_told(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: Callable[..., object], law: str
) -> None:
    monkeypatch.setattr(module, name, broken)
    search = Search(SINGLE, Budget(each=1, together=3)).run(seconds=60)
    assert search.violations
    story = told(search, search.violations[0])
    assert law in story
    assert "the run is created" in story
