"""Calls are money: an uncontended step costs three writes and no read, the run one more at its end."""

import pytest

from flowcore.domain.model import RunStatus
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step
from tests.engine.stage import Handler, Stage


def test_chain_of_three_steps_costs_ten_writes_and_no_read() -> None:
    stage = Stage()
    stage.put(a_run("PENDING"))
    stage.deliver_all(stage.everybody())
    assert stage.run.status is RunStatus.SUCCEEDED
    assert stage.calls() == {"update": 10, "find": 3, "create": 3}
    assert stage.provider.calls == 3
    assert stage.log.events().count("step_claimed") == 3


def test_single_step_costs_four_writes() -> None:
    stage = Stage()
    stage.put(a_run("PENDING", steps={"a": a_step("HEATMAP")}))
    stage.deliver_all([stage.advance(), stage.worker("HEATMAP")])
    assert stage.run.status is RunStatus.SUCCEEDED
    assert stage.calls() == {"update": 4, "find": 1, "create": 1}


@pytest.mark.parametrize("rotation", range(4))
def test_order_of_the_functions_changes_nothing(rotation: int) -> None:
    stage = Stage()
    stage.put(a_run("PENDING"))
    everybody: list[Handler] = stage.everybody()
    stage.deliver_all([*everybody[rotation:], *everybody[:rotation]])
    assert stage.run.status is RunStatus.SUCCEEDED
    assert {name: stage.step(name).attempt for name in (OHLCV, CHARTS, REPORT)} == {OHLCV: 1, CHARTS: 1, REPORT: 1}
    assert stage.provider.calls == 3


def test_replaying_every_event_of_a_finished_run_writes_nothing() -> None:  # F6
    stage = Stage()
    stage.put(a_run("PENDING"))
    stage.deliver_all(stage.everybody())
    document, objects = stage.document, dict(stage.artifacts.objects)
    for when in (0, 3600):
        stage.after(when)
        for change in [*reversed(stage.runs.changes), *stage.runs.changes]:
            assert change.new is not None
            for handler in stage.everybody():
                handler.handle(type(stage.event)("event-2", change.new.run_id, change.new))
    assert stage.document == document
    assert stage.artifacts.objects == objects
    assert stage.provider.calls == 3


def test_sweep_of_a_run_that_needs_nothing_costs_only_its_question() -> None:
    stage = Stage()
    stage.put(a_run("PENDING"))
    stage.deliver_all([stage.advance()])
    before = stage.calls()
    stage.sweep().minutely()
    assert stage.calls() == {**before, "query": 1}
