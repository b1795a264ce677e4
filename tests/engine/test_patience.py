"""Trying again, within reason."""

import pytest

from flowcore.domain.errors import Code, NetworkError
from flowcore.domain.retry import POLICIES, Policy
from flowcore.engine.patience import Patience
from flowcore.testing.world import CountedChance, ManualClock

OUTSIDE = POLICIES["gcs_write"]


def silent(times: int, **details: object) -> tuple[list[int], object]:
    calls: list[int] = []

    def call(timeout: float) -> str:
        calls.append(len(calls))
        if len(calls) <= times:
            raise NetworkError(Code.GCS_WRITE_FAILED, "503", details=details)
        return "answer"

    return calls, call


def persist(patience: Patience, call: object) -> object:
    assert callable(call)
    return patience.persist(call)


def test_silence_is_waited_out() -> None:
    clock = ManualClock()
    calls, call = silent(3)
    assert persist(Patience(OUTSIDE, clock, CountedChance(1.0), ends=1000), call) == "answer"
    assert len(calls) == 4
    assert clock.slept == [1.0, 2.0, 4.0]


def test_policy_ends_after_its_attempts() -> None:
    calls, call = silent(100)
    with pytest.raises(NetworkError):
        persist(Patience(OUTSIDE, ManualClock(), CountedChance(), ends=1000), call)
    assert len(calls) == 5


def test_no_wait_begins_that_would_end_too_late() -> None:
    clock = ManualClock()
    calls, call = silent(100)
    with pytest.raises(NetworkError):
        persist(Patience(Policy(None, 1.0, 1.0, factor=1.0), clock, CountedChance(), ends=3.5), call)
    assert clock.slept == [1.0, 1.0, 1.0]
    assert len(calls) == 4


def test_server_that_asks_for_time_gets_it() -> None:
    clock = ManualClock()
    _, call = silent(1, retryAfterSeconds=17.5)
    persist(Patience(OUTSIDE, clock, CountedChance(), ends=1000), call)
    assert clock.slept == [17.5]


def test_server_that_asks_for_more_than_there_is_ends_it_at_once() -> None:
    clock = ManualClock()
    _, call = silent(1, retryAfterSeconds=120)
    with pytest.raises(NetworkError):
        persist(Patience(OUTSIDE, clock, CountedChance(), ends=100), call)
    assert clock.slept == []


def test_refusal_is_not_repeated() -> None:
    calls: list[int] = []

    def refuse(timeout: float) -> str:
        calls.append(1)
        raise PermissionError

    with pytest.raises(PermissionError):
        persist(Patience(OUTSIDE, ManualClock(), CountedChance(), ends=1000), refuse)
    assert len(calls) == 1


def test_a_call_is_told_how_long_it_may_take() -> None:
    clock, room = ManualClock(), []

    def call(timeout: float) -> None:
        room.append(timeout)
        clock.advance(10)
        if len(room) < 3:
            raise NetworkError(Code.GCS_WRITE_FAILED, "503")

    Patience(OUTSIDE, clock, CountedChance(1.0), ends=40).persist(call)
    assert room == [40, 29, 17]


def test_a_call_begun_at_the_last_moment_gets_a_moment() -> None:
    clock = ManualClock()
    clock.advance(50)
    assert 0 < Patience(OUTSIDE, clock, CountedChance(), ends=40).room() < 1
