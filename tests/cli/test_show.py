"""`flow show`: the graph, why each step waits, what went wrong, and what to do about it."""

from datetime import timedelta
from typing import Any

import pytest

from flowcore.cli.advice import next_things, reasons
from flowcore.cli.display import SIGNS
from flowcore.cli.drawing import WIDEST, drawn
from flowcore.domain.times import to_text
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step, parsed
from flowcore.testing.world import T0
from tests.cli.conftest import Desk
from tests.cli.typing_it import typed

LATER = T0 + timedelta(seconds=30)


def reason(step_id: str, **states: Any) -> str:
    return reasons(parsed(a_run(**states)), LATER)[step_id]


def test_a_pending_step_names_what_it_waits_for() -> None:
    assert reason(REPORT, ohlcv="SUCCEEDED", charts="RUNNING") == f"waits for {CHARTS} (RUNNING)"


def test_a_pending_step_that_may_begin_waits_for_the_orchestrator() -> None:
    said = reason(CHARTS, ohlcv="SUCCEEDED", wakeAt=T0 + timedelta(minutes=5))
    assert "waits for advance_flow" in said
    assert "sweep does it after" in said


def test_a_resting_step_says_until_when_and_why() -> None:
    rest = a_step("OHLCV_EXPORT", notBefore=to_text(T0 + timedelta(seconds=42)), failures=1, timeframe="1M")
    said = reasons(parsed(a_run(steps={OHLCV: rest})), LATER)[OHLCV]
    assert "after failure 1 of 3" in said
    assert "(in 12.0 s)" in said


def test_a_ready_step_names_who_should_take_it() -> None:
    said = reason(CHARTS, ohlcv="SUCCEEDED", charts="READY")
    assert "(30.0 s); worker_charts should take it" in said
    assert "deployed" not in said


def test_a_ready_step_that_nobody_takes_asks_for_its_worker() -> None:
    offered = {"tea": a_step("TEA", "READY", nudges=2)}
    said = reasons(parsed(a_run(steps=offered)), T0 + timedelta(minutes=4))["tea"]
    assert "a worker for TEA should take it, offered again 2 of 5 times" in said
    assert "flow doctor" in said


def test_a_running_step_says_how_long_its_lease_holds() -> None:
    assert "attempt 1 is at work for 30.0 s; its lease holds until" in reason(OHLCV, ohlcv="RUNNING")


def test_a_lost_lease_is_told_as_lost() -> None:
    run = parsed(a_run(ohlcv="RUNNING"))
    assert "its lease ended 1 min 0 s ago" in reasons(run, T0 + timedelta(minutes=11))[OHLCV]


def test_settled_steps_wait_for_nothing() -> None:
    assert reasons(parsed(a_run("FAILED", ohlcv="FAILED", charts="SKIPPED", report="SKIPPED")), LATER) == {}


@pytest.mark.parametrize(
    ("run", "first"),
    [
        (a_run(ohlcv="RUNNING"), f"flow watch {RUN_ID}"),
        (a_run("SUCCEEDED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED"), f"flow open {RUN_ID}"),
        (a_run("CANCELLED", ohlcv="CANCELLED", charts="CANCELLED", report="CANCELLED"), f"flow rerun {RUN_ID}"),
        (a_run("FAILED", ohlcv="FAILED", charts="SKIPPED", report="SKIPPED"), f"flow retry {RUN_ID} {OHLCV}"),
        (a_run(steps={"a": a_step("X", depends_on=["b"])}), "correct the flow (flow validate FILE)"),
    ],
)
def test_there_is_always_a_next_thing(run: dict[str, object], first: str) -> None:
    assert next_things(parsed(run))[0].startswith(first)


def test_what_cannot_be_retried_is_left_out_in_the_same_go() -> None:
    blocked = {"code": "LLM_SAFETY_BLOCK", "message": "no", "retryable": False}
    steps = {"a": a_step("X", "FAILED"), "b": a_step("Y", "FAILED", error=blocked)}
    assert next_things(parsed(a_run("FAILED", steps=steps)))[0] == f"flow retry {RUN_ID} a --skip b"


def picture(**needs: list[str]) -> str:
    steps = {name: a_step("X", depends_on=needed) for name, needed in needs.items()}
    ordered = [parsed(a_run(steps=steps)).steps[name] for name in needs]
    lines = drawn(ordered, {**SIGNS, "PENDING": "●"})
    return "\n".join(f"{line} {step.step_id}" for line, step in zip(lines, ordered, strict=True))


def test_a_chain_is_a_staircase() -> None:
    assert picture(a=[], b=["a"], c=["b"]).splitlines() == ["●     a", "└─●   b", "  └─● c"]


def test_a_fork_and_its_join() -> None:
    assert picture(a=[], b=["a"], c=["a"], d=["b", "c"]).splitlines() == [
        "●       a",
        "├─●     b",
        "└─│─●   c",
        "  └─┴─● d",
    ]


def test_a_line_that_is_merely_crossed_does_not_turn() -> None:
    assert picture(a=[], b=[], c=["a"], d=["b", "c"]).splitlines() == [
        "●       a",
        "│ ●     b",
        "└─│─●   c",
        "  └─┴─● d",
    ]


def test_a_column_is_used_again_when_its_line_has_ended() -> None:
    assert picture(a=[], b=["a"], c=[], d=["c"]).splitlines() == ["●   a", "└─● b", "●   c", "└─● d"]


def test_too_many_lines_are_not_drawn() -> None:
    many: dict[str, list[str]] = {f"s{number:03}": [] for number in range(WIDEST + 5)}
    drawing = picture(**many, last=list(many))
    assert drawing.splitlines()[0] == "● s000"


def test_a_failed_run_is_explained(desk: Desk) -> None:
    desk.put(a_run("FAILED", ohlcv="FAILED", charts="SKIPPED", report="SKIPPED"))
    said = typed("show", RUN_ID)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("in the platform on this machine")
    assert f"{RUN_ID} FAILED" in lines[1]
    assert f"  {OHLCV}: INVALID_STEP_INPUTS The step's inputs cannot be used as they are. no good" in lines
    assert f"next: flow retry {RUN_ID} {OHLCV}" in lines


def test_programs_get_the_same(desk: Desk) -> None:
    desk.put(a_run(ohlcv="SUCCEEDED", charts="RUNNING"))
    said = typed("show", RUN_ID, "--json")
    assert said.code == 0
    assert said.err.startswith("in the platform on this machine")
    steps = {step["stepId"]: step for step in said.data["steps"]}
    assert list(steps) == [OHLCV, CHARTS, REPORT]
    assert steps[REPORT]["waits"] == f"waits for {CHARTS} (RUNNING)"
    assert steps[OHLCV]["artifact"] == "gs://artifacts/some/object"
    assert said.data["next"] == [f"flow watch {RUN_ID}"]


def test_a_broken_run_is_shown_as_such(desk: Desk) -> None:
    desk.put(a_run("PENDING", steps={"a": a_step("X", depends_on=["nowhere"])}))
    said = typed("show", RUN_ID)
    assert said.code == 0
    assert "steps.a.dependsOn[0]: 'nowhere' is not a step of this run" in said.out
