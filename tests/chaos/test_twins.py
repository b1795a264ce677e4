"""The batteries of the twins, a few cases each; `make chaos` runs them whole."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code, StepFailed
from flowcore.engine.context import StepContext
from tests.chaos.battery import Order
from tests.chaos.twins import acting, pairs
from tests.chaos.twins.batteries import BATTERIES, CASES, PAIRS, judged
from tests.chaos.twins.dropped import Silenced
from tests.chaos.twins.pairs import KINDS, Ambushed, all_cases
from tests.chaos.twins.simulation import Kernel
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.storms import TWICE, Schedule
from tests.chaos.twins.verdict import verdict
from tests.chaos.twins.world import Outside, Record, World

FAIR = "1/41"  # a storm in which events come often and late, and nothing else happens
ALL_LOST = "1/0"


@pytest.mark.parametrize(
    ("battery", "cases", "least"), [("storms", 120, 600), ("pairs", 120, 230), ("dropped", 40, 40)]
)
def test_nothing_is_broken_whatever_the_world_does(battery: str, cases: int, least: int) -> None:
    outcome = judged(battery, Order(seed=1, cases=cases, ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == cases
    assert outcome.faults_fired >= least


@pytest.mark.parametrize("battery", CASES)
def test_a_case_is_the_same_whenever_it_is_run(battery: str) -> None:
    for number in range(10):
        assert _history(battery, number) == _history(battery, number)


@pytest.mark.parametrize("battery", ["storms", "dropped"])
def test_a_case_is_told_the_same_by_every_process(battery: str) -> None:
    """Whatever order sets have there."""
    told = [
        subprocess.run(
            [sys.executable, "-m", "tests.chaos.twins", battery, "1", "3"],
            env={**os.environ, "PYTHONHASHSEED": order},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for order in ("1", "2")
    ]
    assert told[0] == told[1]
    assert "PENDING → READY" in told[0]


def test_a_battery_stops_when_its_time_is_up() -> None:
    assert judged("storms", Order(seed=1, cases=1000, ends=time.monotonic())).cases == 0


def test_every_pair_of_places_is_a_case() -> None:
    assert len(all_cases()) == len({*all_cases()}) == PAIRS
    assert PAIRS in {battery.cases for battery in BATTERIES}


def test_the_second_fault_of_a_pair_may_strike_the_recovery_from_the_first() -> None:
    two_faults = [case for case in all_cases() if case[1:]]
    firsts = {first.place for first, _ in two_faults}
    later = {" ".join(second.place) for _, second in two_faults if second.place not in firsts}
    for words in ("sweep query", "sweep update", "advance get", "EXPORT get", " FAILED", " PENDING", ".attempt-1.json"):
        assert any(words in place for place in later), words
    kinds = {(first.kind, second.kind) for first, second in two_faults}
    assert len(kinds) == len(KINDS) ** 2


def test_a_pair_of_which_one_fault_does_not_strike_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = next(case for case in all_cases() if case[1:])
    never = second._replace(at=second.at + 1000)
    monkeypatch.setattr(pairs, "all_cases", lambda: [(first, never)])
    with Stage() as stage:
        case = Ambushed("never/0", stage).run()
    assert [law.rpartition(": ")[2] for law in case.violations] == ["only 1 of the faults struck"]


def test_an_object_with_other_content_than_the_undisturbed_run_made_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step that says something else in its second attempt."""

    def changing(outside: Outside, ctx: StepContext, inputs: Mapping[str, object]) -> Artifact:
        outside.pay(ctx.room(), "bigquery", "query", ctx.step.step_id)
        return Artifact.json({"step": ctx.step.step_id} | ({"again": True} if ctx.step.attempt > 1 else {}))

    dies = next(case for case in all_cases() if case[0].kind == "dies before" and case[0].place.method == "pay")
    monkeypatch.setattr(pairs, "all_cases", lambda: [dies])
    with Stage() as stage:
        assert Ambushed("as it is/0", stage).run().violations == []
        monkeypatch.setattr(acting, "_anything", changing)
        (law,) = Ambushed("as it is/0", stage).run().violations
    assert "ended as" in law
    assert '"again": true' in law


def test_an_object_that_is_not_what_its_hash_says_is_a_violation() -> None:
    world = World(Random(0))
    world.artifacts.create("runs/run/x", b"content", "text/plain", {"sha256": sha256(b"other").hexdigest()})
    assert verdict(world) == ["runs/run/x: its content is not what its sha256 says"]


def test_a_step_that_fails_for_no_reason_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(outside: Outside, ctx: StepContext, inputs: Mapping[str, object]) -> Artifact:
        raise StepFailed(Code.INVALID_STEP_INPUTS, "not today")

    with Stage() as stage:
        fair = Schedule(FAIR, stage).run()
        assert (fair.violations, set(fair.fired)) == ([], {TWICE})
        for act in ("_anything", "_charts", "_report"):
            monkeypatch.setattr(acting, act, gives_up)
        laws = Schedule(FAIR, stage).run().violations
    assert any("is FAILED with INVALID_STEP_INPUTS, and the worst that happened was a delay" in law for law in laws)
    assert "is FAILED, although events came only late or often" in laws


@pytest.mark.parametrize(
    ("function", "called", "case", "seed"),
    [
        ("advance", "handle", Schedule, FAIR),
        ("worker", "handle", Schedule, FAIR),
        ("sweep", "minutely", Silenced, ALL_LOST),
    ],
)
def test_an_exception_that_nothing_explains_is_a_violation(
    function: str, called: str, case: type[Schedule | Silenced], seed: str
) -> None:
    """The next delivery makes up for it, and the run ends as it should; but a function has crashed."""
    first = iter([True])

    class Crashing:
        def __init__(self, *parts: object) -> None:
            self.sound = getattr(Kernel(), function)(*parts)

        def __getattr__(self, name: str) -> object:
            if next(first, False):
                raise KeyError(name)
            return getattr(self.sound, name)

    broken: dict[str, Any] = {function: Crashing}
    with Stage() as stage:
        laws = case(seed, stage, replace(Kernel(), **broken)).run().violations
    assert [law.partition(": ")[2] for law in laws] == [f"KeyError('{called}')"]


def _history(battery: str, number: int) -> list[Record]:
    with Stage() as stage:
        return CASES[battery](f"1/{number}", stage).run().book
