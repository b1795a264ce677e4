"""No call is begun that cannot end while there is still time to record its result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.domain.budget import TimeBudget

SECONDS = st.floats(0.001, 10_000)


def test_defaults_are_those_of_the_seed() -> None:
    budget = TimeBudget()
    assert (budget.invocation, budget.provider, budget.finalize) == (780, 600, 120)
    assert budget.problem() is None


def test_deployed_profile_of_the_report_fits_the_platform() -> None:
    assert TimeBudget(540, 400, 120).problem() is None


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (TimeBudget(700, 600, 120), "exceed"),
        (TimeBudget(719.9, 600, 120), "exceed"),
        (TimeBudget(0, 600, 120), "above zero"),
        (TimeBudget(780, -1, 120), "above zero"),
        (TimeBudget(780, 600, 0), "above zero"),
    ],
)
def test_limits_that_cannot_hold_together_are_named(budget: TimeBudget, words: str) -> None:
    assert words in (budget.problem() or "")


def test_provider_and_reserve_may_use_up_the_invocation_exactly() -> None:
    assert TimeBudget(720, 600, 120).problem() is None


def test_room_is_what_is_left_without_the_reserve() -> None:
    deadline = TimeBudget().starting_at(100.0)
    assert (deadline.left(100), deadline.room(100)) == (780, 660)
    assert (deadline.left(700), deadline.room(700)) == (180, 60)
    assert (deadline.left(5000), deadline.room(5000)) == (0, 0)


@pytest.mark.parametrize(("now", "seconds", "allowed"), [(100, 660, True), (100, 660.1, False), (760, 0.1, False)])
def test_call_is_allowed_only_if_it_can_end_in_time(now: float, seconds: float, allowed: bool) -> None:
    assert TimeBudget().starting_at(100.0).allows(now, seconds) is allowed


@given(SECONDS, SECONDS, SECONDS, SECONDS, SECONDS)
def test_allowed_call_never_eats_the_reserve(
    invocation: float, finalize: float, start: float, later: float, call: float
) -> None:
    deadline = TimeBudget(invocation, 1, finalize).starting_at(start)
    now = start + later
    if deadline.allows(now, call):
        assert now + call <= deadline.ends - deadline.reserve + 1e-6
