"""No call is begun that cannot end while there is still time to record its result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.domain.budget import TimeBudget

SECONDS = st.floats(0.001, 10_000)


def test_defaults_are_those_of_the_readme() -> None:
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
    assert [deadline.room(now) for now in (100, 700, 5000)] == [660, 60, 0]


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_call_that_fits_the_room_never_eats_the_reserve(
    invocation: float, finalize: float, start: float, later: float
) -> None:
    deadline = TimeBudget(invocation, 1, finalize).starting_at(start)
    now = start + later
    room = deadline.room(now)
    assert room == 0 or now + room <= deadline.ends - deadline.reserve + 1e-6
