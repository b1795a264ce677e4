"""Bad input, a few cases of each kind; `make chaos` runs them by the thousand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from emulator.firestore.errors import Refused
from flowcore.contracts.model import Answer, Question
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order
from tests.chaos.inputs import healthy, ports, twins, verdict, wire
from tests.chaos.inputs.documents import brim_full, strange
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.chaos.inputs.twin import encoded

SEEDS = [f"1/{number}" for number in range(40)]


def ordered(cases: int) -> Order:
    return Order(seed=1, cases=cases, ends=time.monotonic() + 60)


@pytest.mark.parametrize(
    ("battery", "cases"),
    [(twins.DOCUMENTS, 60), (twins.EVENTS, 25), (twins.MATERIAL, 50), (twins.REQUESTS, 200)],
    ids=["documents", "events", "artifacts", "requests"],
)
def test_any_input_ends_as_a_documented_code_or_is_ignored(battery: Battery, cases: int) -> None:
    outcome = battery.run(ordered(cases))
    assert outcome.violations == ()
    assert outcome.cases == cases


@pytest.fixture(scope="module")
def session() -> Iterator[wire.Session]:
    with wire.a_system() as system:
        yield wire.Session(system)


@pytest.mark.parametrize(
    ("some", "count"),
    [(wire.documents, 12), (wire.material, 4), (wire.events, 15), (wire.calls, 40)],
    ids=["documents", "artifacts", "events", "requests"],
)
def test_on_the_wire_it_is_the_same(
    session: wire.Session, some: Callable[[wire.Session, list[str]], Iterator[str]], count: int
) -> None:
    assert list(some(session, SEEDS[:count])) == []
    assert session.system.faults.calls.count("firestore") > 0


def test_random_bytes_end_no_server() -> None:
    outcome = ports.run(ordered(240))
    assert outcome.violations == ()
    assert outcome.cases == 240


@pytest.mark.parametrize("make", [healthy.a_market_run, healthy.only_the_report])
def test_a_run_without_room_for_its_own_end_ends(make: Callable[[], dict[str, Any]]) -> None:
    """Firestore has so many bytes left for whatever is to be recorded in the document."""
    for left in (0, 60, 120, 180, 240, 300, 600, 1200):
        stage, run = Stage(), brim_full(make(), left)
        prepared(stage)
        assert found_in(stage, run) == set(), f"{left} bytes"


# --- that a battery can fail ---


def found_in(stage: Stage, run: dict[str, object]) -> set[str]:
    stage.play(RUN_ID, run)
    document = stage.runs.kept[RUN_ID].snapshot.document
    lines = ((event, fields) for _, event, fields in stage.log.lines)
    found = [*stage.broken, *verdict.of_run(RUN_ID, run, document), *verdict.of_log(lines)]
    return {broken.split(":")[0] for broken in found}


def test_an_exception_that_nobody_foresaw_is_a_violation() -> None:
    def stumble(question: Question) -> Answer:
        raise KeyError(question.model)

    stage = Stage(answer=stumble)
    prepared(stage)
    assert found_in(stage, healthy.only_the_report()) == {
        "step_crashed",
        "step 'llm_report_1M_month_summary_v1' is INTERNAL",
    }


def test_a_run_that_nothing_moves_is_a_violation() -> None:
    run = healthy.a_market_run()
    assert {broken.split(":")[0] for broken in verdict.of_run(RUN_ID, run, run)} >= {"the run is stuck"}


def test_an_object_in_another_place_is_a_violation() -> None:
    names = [f"runs/{RUN_ID}/x", f"runs/{RUN_ID}/../other/x", "runs/other/x", "x"]
    assert len(list(verdict.of_objects(RUN_ID, names))) == 3


def test_a_seed_is_the_same_document_every_time() -> None:
    for seed in SEEDS:
        first, again = (encoded("x", strange(Hostile(seed)).document) for _ in range(2))
        assert first.SerializeToString(deterministic=True) == again.SerializeToString(deterministic=True)


def test_strange_documents_come_to_every_end() -> None:
    """Else the battery would be one case, many times."""
    ends = set()
    for number in range(60):
        stage, odd = Stage(), strange(Hostile(f"2/{number}"))
        prepared(stage)
        if odd.run_id == RUN_ID and len(str(odd.document)) < 50_000:
            with suppress(Refused):
                stage.play(odd.run_id, odd.document)
                ends.add(stage.runs.kept[RUN_ID].snapshot.document["status"])
    assert ends == {"SUCCEEDED", "FAILED", "CANCELLED"}
