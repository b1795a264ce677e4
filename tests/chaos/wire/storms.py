"""Storms on the wire, drawn from a seed: what happens to a run's calls and events, and who meddles with it.

Clocks differ by up to the margin of a lease: each function has its own for a season, and sweep's is the furthest ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from tests.chaos.wire.arena import MARGIN
from tests.chaos.wire.cases import Case
from tests.chaos.wire.operator import Act
from tests.chaos.wire.points import ANSWERS, BYTES, SHAPES, Answered, Crowd, Point, Problem, Trouble, Weather

# A hanging call takes its time, and a killed process seconds to come back: in a storm they are the rarer ones.
SLOW = ("dies before", "dies after", "waits in vain for", "waits in vain, although done, for")
MIXED = ("loses the reply of", "is told 503 by", "is told 503, although done, by") * 5 + SLOW
ACTS = ("cancel", "stop", "wish", "reopen")
FUNCTIONS = ("advance_flow", "start_flow", "worker_ohlcv_export", "worker_charts", "worker_llm_report")
RECORDS = 100  # of a run, at the least
PROVIDERS = [Answered("gemini", "generateContent", answer) for answer in ANSWERS]
PROVIDERS += [Answered("storage", "objects.get_media", answer) for answer in BYTES]
OF_EVERY_KIND = {*MIXED, *SHAPES, *ACTS, *(answer.kind for answer in PROVIDERS), Crowd(1.0).kind}


def a_storm(points: Iterable[Point], seed: int, number: int) -> Case:
    chance = Random(f"{seed}/{number}")
    places = sorted(points)
    problems: list[Problem] = [
        Trouble(chance.choice(places), chance.choice(MIXED)) for _ in range(chance.randint(0, 4))
    ]
    problems += [
        Weather(shape, chance.uniform(0.01, 0.3), chance.randrange(2**31))
        for shape in chance.sample(list(SHAPES), chance.randint(1, 3))
    ]
    if chance.random() < 0.15:
        problems.append(Answered("gemini", "generateContent", chance.choice(list(ANSWERS))))
    if chance.random() < 0.1:
        problems.append(Answered("storage", "objects.get_media", chance.choice(list(BYTES))))
    if chance.random() < 0.2:
        problems.append(Crowd(chance.choice((1.0, 2.0, 5.0))))
    acts = []
    if chance.random() < 0.1:
        acts.append(Act(chance.choice(("cancel", "stop")), chance.randint(1, 10), chance.randrange(2**31)))
    if chance.random() < 0.15:
        acts.append(Act("wish", chance.randint(2, 11), chance.randrange(2**31)))
    patience = chance.choice((0, 0, 1, 2))
    return Case(f"storm-{seed}-{number}", tuple(problems), same_ending=False, acts=tuple(acts), patience=patience)


def clocks(seed: int, season: int) -> dict[str, float]:
    """Seconds ahead, by function; none differs from another by more than the margin."""
    chance = Random(f"clocks {seed}/{season}")
    return {name: chance.uniform(-MARGIN / 2, MARGIN / 2) for name in FUNCTIONS} | {"sweep": MARGIN / 2}


def outages(seed: int, season: int, cases: int, number: int) -> list[int]:
    """When the platform is killed: after so many records of its history."""
    chance = Random(f"outages {seed}/{season}")
    return sorted(chance.randrange(RECORDS, RECORDS * cases) for _ in range(number)) if cases > 1 else []
