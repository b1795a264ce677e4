"""The batteries of the twins, a few cases each; `make chaos` runs them whole."""

from __future__ import annotations

import time
from random import Random

import pytest

from tests.chaos.battery import Order
from tests.chaos.twins.batteries import BATTERIES, PAIRS, judged
from tests.chaos.twins.flows import a_flow, functions_for
from tests.chaos.twins.pairs import all_pairs
from tests.chaos.twins.simulation import Simulation
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.storms import RUN_ID, Storm, Weather
from tests.chaos.twins.world import Record, World


@pytest.mark.parametrize(
    ("battery", "cases", "least"), [("storms", 120, 600), ("pairs", 120, 120), ("dropped", 40, 40)]
)
def test_nothing_is_broken_whatever_the_world_does(battery: str, cases: int, least: int) -> None:
    outcome = judged(battery, Order(seed=1, cases=cases, ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == cases
    assert outcome.faults_fired >= least


def test_a_schedule_is_the_same_whenever_it_is_run() -> None:
    for number in range(10):
        assert _history(number) == _history(number)


def test_a_battery_stops_when_its_time_is_up() -> None:
    assert judged("storms", Order(seed=1, cases=1000, ends=time.monotonic())).cases == 0


def test_every_pair_of_places_is_a_case() -> None:
    with Stage() as stage:
        assert len(all_pairs(stage)) == PAIRS
    assert PAIRS in {battery.cases for battery in BATTERIES}


def _history(number: int) -> list[Record]:
    chance = Random(number)
    flow = a_flow(chance, RUN_ID)
    world = World(chance)
    storm = Storm(chance, Weather.drawn(chance, functions_for(flow)), world)
    with Stage() as stage:
        simulation = Simulation(world, stage, storm, functions_for(flow))
        simulation.put(RUN_ID, flow)
        simulation.until_quiet()
    return world.book
