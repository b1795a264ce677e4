"""One table of policies; every delay can be computed again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.domain.errors import Code, StepError
from flowcore.domain.retry import POLICIES, Policy, next_delay, step_delay

SILENCE = ["firestore", "gcs_read", "gcs_write", "bigquery"]
LUCK = st.floats(0, 1, exclude_max=True)


def asked_for(seconds: object) -> StepError:
    return StepError(Code.RATE_LIMITED, "429", True, {"retryAfterSeconds": seconds})


def delays(name: str, luck: float, failures: int) -> list[float | None]:
    return [next_delay(POLICIES[name], number, luck) for number in range(1, failures + 1)]


def test_claim_is_tried_three_to_five_times_and_first_again_at_once() -> None:
    for luck in (0.0, 0.5, 0.999):
        first, *later = delays("claim", luck, 10)
        waits = [delay for delay in later if delay is not None]
        assert first is not None
        assert first <= 0.01
        assert 3 <= 1 + 1 + len(waits) <= 5
        assert all(0.1 <= delay <= 0.5 for delay in waits)


@pytest.mark.parametrize("name", SILENCE)
def test_silence_is_waited_out_as_the_table_says(name: str) -> None:
    assert delays(name, 1.0, 5) == [1.0, 2.0, 4.0, 8.0, None]
    for number, most in enumerate([1.0, 2.0, 4.0, 8.0], start=1):
        for luck in (0.0, 0.3, 0.999):
            delay = next_delay(POLICIES[name], number, luck)
            assert delay is not None
            assert most / 2 <= delay <= most


def test_longest_delay_is_32_seconds() -> None:
    patient = Policy(attempts=None, low=0.5, high=1.0)
    assert [next_delay(patient, number, 1.0) for number in (5, 6, 7, 1000)] == [16.0, 32.0, 32.0, 32.0]


@pytest.mark.parametrize("name", ["gemini", "gemini_repair"])
def test_model_is_asked_once_and_repaired_once(name: str) -> None:
    assert POLICIES[name].attempts == 1
    assert next_delay(POLICIES[name], 1, 0.5) is None


def test_chart_service_is_called_at_most_three_times() -> None:
    assert POLICIES["chart_img"].attempts == 3


def test_last_write_of_a_step_has_no_last_try() -> None:
    assert POLICIES["finalize"].attempts is None
    assert POLICIES["firestore_finalize"].attempts is None
    assert next_delay(POLICIES["finalize"], 10_000, 0.5) == pytest.approx(5.0)


@pytest.mark.parametrize("name", ["advance", "finalize", "sweep"])
def test_races_are_redecided_at_once_and_then_ever_more_slowly(name: str) -> None:
    first, *later = [delay for delay in delays(name, 0.5, 7) if delay is not None]
    assert first < 0.01
    assert later == sorted(later)
    assert later[0] >= 0.1


@given(st.sampled_from(sorted(POLICIES)), st.integers(0, 10**9), LUCK)
def test_no_delay_is_below_zero_or_above_its_cap(name: str, failures: int, luck: float) -> None:
    delay = next_delay(POLICIES[name], failures, luck)
    assert delay is None or 0 <= delay <= POLICIES[name].cap


@given(st.integers(0, 10**9), LUCK, st.one_of(st.integers(), st.floats(), st.just(10**400), st.text(), st.none()))
def test_any_wish_is_survived_and_an_hour_is_the_most(failures: int, luck: float, seconds: object) -> None:
    delay = next_delay(POLICIES["step"], failures, luck, asked_for(seconds))
    assert delay is not None
    assert 0 < delay <= 3600


@pytest.mark.parametrize(("seconds", "expected"), [(120, 120), (0.1, 11.25), (-5, 11.25), (10**6, 3600), (None, 11.25)])
def test_wish_of_the_server_is_the_least(seconds: object, expected: float) -> None:
    assert next_delay(POLICIES["step"], 1, 0.5, asked_for(seconds)) == expected


def test_rest_of_a_step_grows_and_is_capped() -> None:
    rests = [step_delay("run", "step", 1, failures, None).total_seconds() for failures in range(1, 12)]
    assert 7.5 <= rests[0] < 15
    assert rests[1] == pytest.approx(2 * rests[0], abs=1e-5)
    assert rests[-1] == 600


def test_jitter_is_a_hash_of_run_step_and_attempt() -> None:
    # Spelled out, so that no other source of chance can slip in: SHA-256 of "run/step/1", first eight bytes.
    assert step_delay("run", "step", 1, 1, None).total_seconds() == 9.06755
    different = {step_delay(run, step, attempt, 1, None) for run in "ab" for step in "xy" for attempt in (1, 2)}
    assert len(different) == 8


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)), st.integers(0), st.integers(0))
def test_rest_is_the_same_whoever_computes_it(run_id: str, step_id: str, attempt: int, failures: int) -> None:
    rest = step_delay(run_id, step_id, attempt, failures, None)
    assert rest == step_delay(run_id, step_id, attempt, failures, None)
    assert 7.5 <= rest.total_seconds() <= 600


def test_hash_spreads_the_rests_evenly() -> None:
    early = sum(step_delay(f"run-{number}", "s", 1, 1, None).total_seconds() < 11.25 for number in range(1000))
    assert 420 < early < 580
