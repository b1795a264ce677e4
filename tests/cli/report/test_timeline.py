"""Bars: who waited when, who ran when, and that no clock can push one off the page."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.cli.report.order import along_the_graph, conclusions_first
from flowcore.cli.report.timeline import Timeline, timeline
from flowcore.domain.model import Step
from flowcore.domain.times import to_text
from flowcore.testing.builders import a_run, a_step, parsed
from tests.cli.report.sample import T0


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def steps_of(**steps: dict[str, Any]) -> dict[str, Step]:
    return dict(parsed(a_run(steps=steps)).steps)


def drawn(until: float, **steps: dict[str, Any]) -> Timeline:
    return timeline(along_the_graph(steps_of(**steps)), T0, at(until))


def bars_of(line: Timeline, lane: int = 0) -> list[tuple[str, str, float, float]]:
    return [(bar.kind, bar.tone, bar.x, bar.width) for bar in line.lanes[lane].bars]


def a_finished(ready: float, started: float, finished: float, **fields: Any) -> dict[str, Any]:
    times = {"readyAt": to_text(at(ready)), "startedAt": to_text(at(started)), "finishedAt": to_text(at(finished))}
    return a_step("X", "SUCCEEDED", **{**times, **fields})


# --- bars -------------------------------------------------------------------------------------------------


def test_waiting_and_running_are_two_bars() -> None:
    line = drawn(10, a=a_finished(1, 2, 6))
    assert bars_of(line) == [("waited", "waiting", 10, 10), ("ran", "succeeded", 20, 40)]
    assert line.lanes[0].says == "waited 1.0 s, ran 4.0 s, succeeded"


def test_each_attempt_has_its_bar_and_its_number() -> None:
    earlier = {"attempt": 1, "startedAt": to_text(at(1)), "finishedAt": to_text(at(3)), "error": {"code": "INTERNAL"}}
    line = drawn(10, a=a_finished(6, 7, 10, attempt=2, attempts=[earlier]))
    assert bars_of(line) == [("ran", "failed", 10, 20), ("waited", "waiting", 30, 40), ("ran", "succeeded", 70, 30)]
    assert [bar.number for bar in line.lanes[0].bars] == [1, None, 2]


def test_a_single_attempt_needs_no_number() -> None:
    assert [bar.number for bar in drawn(10, a=a_finished(0, 1, 9)).lanes[0].bars] == [None, None]


def test_a_step_that_nobody_took_has_waited_until_now() -> None:
    line = drawn(10, a=a_step("X", "READY", readyAt=to_text(at(4))))
    assert bars_of(line) == [("waited", "waiting", 40, 60)]
    assert line.lanes[0].ran is None


def test_a_step_that_rests_after_a_failure_has_waited_since() -> None:
    earlier = {"attempt": 1, "startedAt": to_text(at(1)), "finishedAt": to_text(at(2))}
    line = drawn(10, a=a_step("X", "PENDING", attempt=1, attempts=[earlier]))
    assert bars_of(line) == [("ran", "failed", 10, 10), ("waited", "waiting", 20, 80)]


def test_a_skipped_step_leaves_a_mark_and_no_time() -> None:
    line = drawn(10, a=a_step("X", "SKIPPED", finishedAt=to_text(at(5))))
    assert bars_of(line) == [("ended", "skipped", 50, 0.5)]
    assert line.lanes[0].ran is None
    assert line.lanes[0].says == "did not run, skipped"


def test_an_attempt_that_no_worker_began_is_still_on_record() -> None:
    nobody = {"attempt": 0, "finishedAt": to_text(at(5)), "error": {"code": "NO_WORKER"}}
    line = drawn(10, a=a_step("X", "READY", readyAt=to_text(at(6)), attempts=[nobody]))
    assert bars_of(line)[0] == ("ran", "failed", 50, 0.5)


def test_a_step_that_took_no_time_says_so() -> None:
    assert drawn(10, a=a_finished(1, 2, 2)).lanes[0].ran == timedelta(0)


moments = st.one_of(st.none(), st.integers(-(10**7), 10**7).map(lambda seconds: to_text(at(seconds))))


@given(st.data())
def test_whatever_the_clocks_say_no_bar_leaves_the_page(data: st.DataObject) -> None:
    names = ("readyAt", "startedAt", "finishedAt")
    status = data.draw(st.sampled_from(["PENDING", "READY", "RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"]))
    attempts = data.draw(st.lists(st.fixed_dictionaries({"startedAt": moments, "finishedAt": moments}), max_size=3))
    times: dict[str, Any] = {name: data.draw(moments) for name in names}
    step = a_step("X", status, **times, attempts=attempts)
    line = timeline(along_the_graph(steps_of(a=step)), T0, at(data.draw(st.integers(-(10**6), 10**6))))
    for bar in line.lanes[0].bars:
        assert bar.x >= 0
        assert bar.width > 0
        assert bar.x + bar.width <= 100.01
    assert 1 <= len(line.ticks) <= 7
    assert all(0 <= tick.x <= 100 for tick in line.ticks)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.45, ["0", "100 ms", "200 ms", "300 ms", "400 ms"]),
        (4, ["0", "1 s", "2 s", "3 s", "4 s"]),
        (100, ["0", "20 s", "40 s", "1 min", "1 min 20 s", "1 min 40 s"]),
        (7_200, ["0", "20 min", "40 min", "1 h", "1 h 20 min", "1 h 40 min", "2 h"]),
        (86_400 * 30, ["0", "6 d", "12 d", "18 d", "24 d", "30 d"]),
    ],
)
def test_ticks_are_round_and_few(seconds: float, said: list[str]) -> None:
    assert [tick.says for tick in drawn(seconds, a=a_step("X")).ticks] == said


# --- order ------------------------------------------------------------------------------------------------


def test_no_step_stands_before_one_that_it_needs_and_the_earlier_comes_first() -> None:
    steps = steps_of(
        a=a_finished(5, 5, 6, dependsOn=["z"]),
        m=a_finished(2, 2, 9),
        z=a_finished(3, 3, 4),
        b=a_step("X", dependsOn=["a"]),
    )
    assert [step.step_id for step in along_the_graph(steps)] == ["m", "z", "a", "b"]


def test_steps_in_a_circle_are_shown_all_the_same() -> None:
    steps = steps_of(a=a_step("X", depends_on=["b"]), b=a_step("X", depends_on=["a"]), c=a_step("X", depends_on=["a"]))
    assert sorted(step.step_id for step in along_the_graph(steps)) == ["a", "b", "c"]


def test_a_report_is_ranked_by_how_many_others_it_rests_on() -> None:
    steps = steps_of(
        first=a_step("LLM_REPORT"),
        between=a_step("X", depends_on=["first"]),
        last=a_step("LLM_REPORT", depends_on=["between", "second"]),
        second=a_step("LLM_REPORT", depends_on=["first"]),
    )
    ranked = [(step.step_id, rests_on) for step, rests_on in conclusions_first(along_the_graph(steps), steps)]
    assert ranked == [("last", 2), ("second", 1), ("first", 0)]
