"""Bad input, a few cases of each kind; `make chaos` runs them by the thousand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from emulator.firestore.errors import Refused
from flowcore.contracts.model import Answer, Question
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order
from tests.chaos.inputs import healthy, ports, requests, twins, verdict, wire
from tests.chaos.inputs.documents import Strange, brim_full, strange
from tests.chaos.inputs.drawing import block
from tests.chaos.inputs.material import Prepared, strange_material
from tests.chaos.inputs.session import Session, a_system
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.chaos.inputs.twin import encoded


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
def session() -> Iterator[Session]:
    with a_system() as system:
        yield Session(system)


@pytest.mark.parametrize(
    ("kind", "count"),
    [(wire.DOCUMENTS, 12), (wire.MATERIAL, 4), (wire.EVENTS, 15), (wire.REQUESTS, 40)],
    ids=["documents", "artifacts", "events", "requests"],
)
def test_on_the_wire_it_is_the_same(session: Session, kind: wire.Kind[Any], count: int) -> None:
    outcome = kind.played(session, ordered(count))
    assert outcome.violations == ()
    assert outcome.cases == count
    assert outcome.faults_fired > count / 2
    assert session.system.faults.calls.count("firestore") > 0


def test_random_bytes_end_no_server() -> None:
    outcome = ports.run(ordered(240), single_process=True)
    assert outcome.violations == ()
    assert outcome.cases == 240
    assert outcome.faults_fired > 120


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


@pytest.mark.parametrize(
    ("ended", "law"),
    [
        ({"status": "SUCCEEDED"}, "a defect at 'scope' ended 'SUCCEEDED' with None"),
        ({"status": "FAILED", "error": {"code": "NO_WORKER"}}, "a defect at 'scope' ended 'FAILED' with 'NO_WORKER'"),
        ({"status": "FAILED", "error": {"code": "FLOW_RUN_INVALID"}}, "the run is invalid, and does not say where"),
    ],
)
def test_a_broken_document_that_ends_otherwise_is_a_violation(ended: dict[str, object], law: str) -> None:
    run = {**healthy.a_market_run("SUCCEEDED"), "status": "RUNNING", "scope": 7}
    assert [found for found in verdict.of_run(RUN_ID, run, {**run, **ended}) if found.startswith(law)]


def test_what_a_stranger_wrote_may_stay_as_it_is() -> None:
    """Also what does not equal itself, or is another object when it is read again."""
    run = healthy.a_market_run("SUCCEEDED")
    old, new = ({**run, "error": {"code": None, "x": [float("nan")]}} for _ in range(2))
    assert [*verdict.of_run(RUN_ID, old, new)] == []
    assert [*verdict.of_run(RUN_ID, run, new)] == ["the run has the code None, which is not in the registry"]


def test_an_object_in_another_place_is_a_violation() -> None:
    names = [f"runs/{RUN_ID}/x", f"runs/{RUN_ID}/../other/x", "runs/other/x", "x"]
    assert len(list(verdict.of_objects(RUN_ID, names))) == 3


def test_a_write_beside_the_run_is_a_violation(session: Session) -> None:
    session.renew()
    session.system.put("flow_runs/somebody-elses", {"status": "SUCCEEDED"})
    session.system.settle()
    found = session.broken(["r1"], set(session.system.objects()))
    assert set(found) == {"a write outside of the run: 'flow_runs/somebody-elses'"}


# --- that hypothesis makes good cases ---


def test_a_seed_is_the_same_documents_every_time() -> None:
    first, again = (
        [encoded("x", case.value.document).SerializeToString(deterministic=True) for case in block(strange, "1/0", 40)]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first)) > 35


def test_a_block_holds_as_many_cases_as_were_asked_for() -> None:
    """What hypothesis leaves unfinished is made up for."""
    for make in (strange, strange_material, twins.disturbed, requests.strange_call):
        assert len(block(make, "1/0", 30)) == 30


def test_strange_documents_come_to_every_end() -> None:
    """Else the battery would be one case, many times."""
    ends = set()
    for case in block(strange, "2/0", 60):
        stage, odd = Stage(), case.value
        prepared(stage)
        if odd.run_id == RUN_ID and len(str(odd.document)) < 50_000:
            with suppress(Refused):
                stage.play(odd.run_id, odd.document)
                ends.add(stage.runs.kept[RUN_ID].snapshot.document["status"])
    assert ends == {"SUCCEEDED", "FAILED", "CANCELLED"}


def test_a_violation_is_told_with_the_smallest_case_like_it() -> None:
    def judge(odd: Strange) -> Iterator[str]:
        if not isinstance(odd.document.get("steps"), dict):
            yield "steps are no map"

    outcome = twins.Kind("documents", strange, judge).run(ordered(100))
    told = [violation for violation in outcome.violations if "the smallest like it is" in violation]
    assert outcome.cases == 100
    assert len(told) == 1
    assert len(told[0]) < 200


def test_what_is_in_order_is_no_fault() -> None:
    call = requests.Call(requests.DEFINITION, {"method": "POST", "data": b"", "headers": {}}, plays=False)
    sound = {"method": "POST", "data": json.dumps(requests.BODY).encode()}
    assert call.odd
    assert not replace(call, wanted={**sound, "headers": {"Content-Type": "application/json"}}).odd
    assert not Strange(RUN_ID, healthy.a_market_run(), events=True).odd
    assert Strange(RUN_ID, {**healthy.a_market_run(), "status": 7}, events=True).odd
    stage = Stage()
    prepared(stage)
    assert not Prepared(stage, healthy.only_the_report()).odd
    stage.shelf.fields[healthy.PROMPT_PATH] = {}
    assert Prepared(stage, healthy.only_the_report()).odd
