"""Bad input, a few cases of each kind; `make chaos` runs them by the thousand."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from flowcore.contracts.model import Answer, Question
from flowcore.domain.lifecycle import finalize
from flowcore.domain.model import Defect, Run
from flowcore.domain.moves import Failed, Succeeded
from flowcore.domain.patch import Patch
from flowcore.domain.plan import plan
from flowcore.engine import advance, sweep, worker
from flowcore.engine.event import FlowEvent
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import CountedChance
from tests.chaos.battery import Battery, Order
from tests.chaos.inputs import healthy, ports, requests, twins, verdict, wire
from tests.chaos.inputs import stage as stage_module
from tests.chaos.inputs.documents import brim_full
from tests.chaos.inputs.session import Session, a_system
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.chaos.inputs.twin import Shelf, TwinRuns
from tests.functions.system import wait_until


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


def test_a_worker_that_is_replaced_is_noticed() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait; sleep 60"]) as parent:
        try:
            wait_until(lambda: len(ports.family(parent.pid)) == 2)
            before = ports.family(parent.pid)
            for child in before - {parent.pid}:
                os.kill(child, signal.SIGKILL)
            wait_until(lambda: len(ports.family(parent.pid)) == 2 and ports.family(parent.pid) != before)
            last = ports.family(parent.pid) - {parent.pid}
            assert last.isdisjoint(before)
        finally:
            parent.kill()
        for child in last:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("number", range(len(healthy.RUNS)))
def test_what_is_in_order_ends_well(number: int) -> None:
    """On the stage on which everything else is spoiled: else a failure would say nothing about what was spoiled."""
    stage = Stage()
    prepared(stage)
    stage.play(RUN_ID, healthy.RUNS[number])
    assert stage.runs.kept[RUN_ID].snapshot.document["status"] == "SUCCEEDED"
    assert stage.broken == []


def test_on_the_wire_it_ends_well_too(session: Session) -> None:
    for run in healthy.RUNS:
        session.renew()
        session.written(RUN_ID, run)
        session.played_out({RUN_ID: run})
        assert session.document(RUN_ID)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("make", [healthy.a_market_run, healthy.only_the_report])
def test_a_run_without_room_for_its_own_end_ends(make: Callable[[], dict[str, Any]]) -> None:
    """Firestore has so many bytes left for whatever is to be recorded in the document."""
    for left in (0, 60, 120, 180, 240, 300, 600, 1200):
        stage, run = Stage(), brim_full(make(), left)
        prepared(stage)
        assert found_in(stage, run) == set(), f"{left} bytes"


# --- that a battery can fail ---


@pytest.fixture
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is broken on purpose need not be made smaller."""
    monkeypatch.setattr(twins, "SHRINKING", 0.0)


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


@pytest.mark.usefixtures("unshrunk")
def test_a_sound_document_that_is_called_invalid_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def condemn(run: Run, now: datetime) -> Patch:
        return plan(run if run.status.finished else replace(run, defect=Defect("steps", "are not to our taste")), now)

    for module in (advance, sweep):
        monkeypatch.setattr(module, "plan", condemn)
    for battery in (twins.DOCUMENTS, twins.EVENTS, twins.MATERIAL):
        found = battery.run(ordered(25)).violations
        assert any("a sound document is called invalid" in violation for violation in found), battery.name


@pytest.mark.usefixtures("unshrunk")
def test_a_failure_without_a_code_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def say_nothing(run: Run, token: str, outcome: Succeeded | Failed, now: datetime) -> Patch:
        patch = finalize(run, token, outcome, now)
        return Patch({path: value for path, value in patch.changes.items() if not path.endswith(".error")})

    monkeypatch.setattr(worker, "finalize", say_nothing)
    found = twins.MATERIAL.run(ordered(10)).violations
    assert any("is FAILED without a code of the registry" in violation for violation in found)


def test_a_run_that_goes_in_circles_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_rest(run: Run, now: datetime) -> Patch:
        return Patch({"round": chance.token()})

    chance = CountedChance()
    monkeypatch.setattr(advance, "plan", never_rest)
    monkeypatch.setattr(stage_module, "DELIVERIES", 20)
    stage = Stage()
    stage.runs.put(RUN_ID, healthy.a_market_run())
    stage.settle()
    assert stage.broken == ["still going after 20 deliveries"]


@pytest.mark.usefixtures("unshrunk")
def test_a_run_that_strange_events_bring_to_another_end_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever believes an event writes what was decided on it over whatever is there."""

    def believe(runs: TwinRuns, run_id: str, patch: Patch, update_time: datetime, timeout: float = 0) -> datetime:
        found = runs.kept.get(run_id)
        return update(runs, run_id, patch, found.snapshot.update_time if found else update_time, timeout)

    update = TwinRuns.update
    monkeypatch.setattr(TwinRuns, "update", believe)
    found = "\n".join(twins.EVENTS.run(ordered(80)).violations)
    assert "a run in order ended" in found
    assert "another run was written" in found


@pytest.mark.usefixtures("unshrunk")
def test_whoever_asks_for_another_run_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if Firestore does not let it happen."""

    def astray(event: FlowEvent) -> FlowEvent:
        return replace(event, run_id="somebody-elses")

    handle = advance.Advance.handle
    monkeypatch.setattr(advance.Advance, "handle", lambda self, event: handle(self, astray(event)))
    found = twins.DOCUMENTS.run(ordered(5)).violations
    assert any("a write outside of the run: 'somebody-elses'" in violation for violation in found)


def test_a_document_beside_the_run_that_was_asked_for_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(shelf: Shelf, path: str, fields: Mapping[str, object], timeout: float = 0) -> None:
        create(shelf, path, fields, timeout)
        create(shelf, f"{path}-copy", fields, timeout)

    create = Shelf.create
    monkeypatch.setattr(Shelf, "create", twice)
    found = requests.started(requests.Call(requests.DEFINITION, requests.SOUND, plays=False)).broken
    assert [violation.split(":")[0] for violation in found] == ["a write outside of the run"]


def test_a_write_beside_the_run_is_a_violation(session: Session) -> None:
    session.renew()
    session.system.put("flow_runs/somebody-elses", {"status": "SUCCEEDED"})
    session.system.settle()
    found = session.broken(["r1"], set(session.system.objects()))
    assert set(found) == {"a write outside of the run: 'flow_runs/somebody-elses'"}
