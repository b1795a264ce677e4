"""The batteries on the wire, a handful of cases each, on one platform; `make chaos` runs them whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.chaos.battery import Order
from tests.chaos.wire.arena import Arena, opened
from tests.chaos.wire.batteries import BATTERIES, storms
from tests.chaos.wire.cases import Case, Undisturbed, judged
from tests.chaos.wire.points import KINDS, Point, Trouble


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with opened() as arena:
        yield arena


@pytest.fixture(scope="module")
def undisturbed(arena: Arena) -> Undisturbed:
    return Undisturbed.traced(arena, "undisturbed")


def test_the_points_are_the_calls_of_every_function(undisturbed: Undisturbed) -> None:
    services = {point.service for point in undisturbed.points}
    assert services == {"firestore", "storage", "bigquery", "gemini"}
    assert len(undisturbed.points) * len(KINDS) == BATTERIES[0].cases


def test_a_run_ends_as_if_nothing_had_happened(arena: Arena, undisturbed: Undisturbed) -> None:
    """Each step's object, its claim, and the paid call, under every kind of trouble that takes no waiting."""
    troubles = [
        Trouble(_point(undisturbed, "objects.insert", "ohlcv"), "dies after"),
        Trouble(_point(undisturbed, "Commit", "flow_runs"), "loses the reply of"),
        Trouble(_point(undisturbed, "objects.insert", "manifest"), "dies before"),
        Trouble(_point(undisturbed, "generateContent", "gemini"), "is told 503 by"),
    ]
    cases = [Case(f"disturbed-{number}", (trouble,)) for number, trouble in enumerate(troubles)]
    outcome = judged(arena, cases, undisturbed, _order(len(cases)), "points")
    assert outcome.violations == ()
    assert outcome.faults_fired == len(cases)


def test_a_run_that_ends_otherwise_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    another = replace(undisturbed, ending=replace(undisturbed.ending, objects=()))
    outcome = judged(arena, [Case("as-always", ())], another, _order(1), "points")
    assert ["ended as" in law for law in outcome.violations] == [True]


def test_a_storm_breaks_nothing(arena: Arena, undisturbed: Undisturbed) -> None:
    arena.operators = True
    outcome = judged(arena, storms(undisturbed.points, _order(2)), undisturbed, _order(2), "storms")
    arena.operators = False
    assert outcome.violations == ()
    assert outcome.faults_fired > 0


def _point(undisturbed: Undisturbed, method: str, about: str) -> Point:
    return next(point for point in undisturbed.points if point.method == method and about in point.resource)


def _order(cases: int) -> Order:
    return Order(seed=8, cases=cases, ends=time.monotonic() + 60)
