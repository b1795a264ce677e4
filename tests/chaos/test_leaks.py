"""Nothing secret gets out, and nothing hostile out of its place: some rows here, and all of them in `make chaos`."""

from __future__ import annotations

import time

import pytest

from tests.chaos.battery import Order
from tests.chaos.leaks import places, secrets
from tests.chaos.leaks.canaries import EVERYWHERE, MODEL_KEY, OUTPUT, PROMPT, Place
from tests.chaos.leaks.failures import paths

# One of each kind, and none that waits.
SOME = {
    *("a good answer", "bad answer 2, mended", "bad answer 3, twice", "gemini: 400", "gemini, at the repair: 500"),
    *("gemini: safety", "chart_img: 403", "a note instead of candles", "firestore Commit: 403"),
}


def test_no_secret_is_found_where_it_does_not_belong() -> None:
    some = [path for path in paths() if path.name in SOME]
    outcome = secrets.looked_at(some, Order(seed=1, cases=len(SOME), ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == len(SOME)
    assert outcome.faults_fired == 5


def test_hostile_content_stays_in_its_place() -> None:
    outcome = places.run(Order(seed=1, cases=250, ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == 250


# --- that a battery can fail ---


@pytest.mark.parametrize("canary", EVERYWHERE)
def test_a_secret_is_noticed(canary: str) -> None:
    assert list(Place("the log", f'{{"message":"so {canary}, it says"}}').leaks()) == [f"{canary} is in the log"]


def test_what_belongs_somewhere_may_be_there_and_nowhere_else() -> None:
    place = Place("a report", f"{OUTPUT} {PROMPT} {MODEL_KEY}", may_hold=(OUTPUT,))
    assert list(place.leaks()) == [f"{MODEL_KEY} is in a report", f"{PROMPT} is in a report"]


def test_every_path_has_a_name_of_its_own() -> None:
    names = [path.name for path in paths()]
    assert len(set(names)) == len(names) > 90
