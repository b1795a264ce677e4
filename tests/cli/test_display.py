"""A run on a screen, as it changes: in a pipe and on a terminal."""

import io
import re
from datetime import timedelta

from rich.console import Console

from flowcore.cli.display import show_all, table
from flowcore.domain.model import Run
from flowcore.domain.times import to_text
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step, parsed
from flowcore.testing.world import T0

LATER = T0 + timedelta(seconds=4)
WHY = {"code": "CHART_API_FAILED", "message": "the server said no", "retryable": False}
LONG = f"gs://artifacts/charts/{RUN_ID}/{CHARTS}/manifest.json"


def told(*runs: Run | None) -> list[str]:
    """What a pipe gets to read, without the times of day."""
    heard = io.StringIO()
    show_all(Console(file=heard, width=40), (run for run in runs))
    return [re.sub(r"\d\d:\d\d:\d\d ", "", line) for line in heard.getvalue().splitlines()]


def rows(run: Run, width: int, *, whole: bool) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width).print(table(run, [*run.steps.values()], LATER, whole=whole))
    return screen.getvalue().splitlines()


def test_a_pipe_gets_a_line_for_each_change_however_long() -> None:
    before = parsed(a_run("PENDING"))
    begun = parsed(a_run(ohlcv="READY"))
    done = a_step("OHLCV_EXPORT", "SUCCEEDED", startedAt=to_text(T0), finishedAt=to_text(LATER), timeframe="1M")
    after = parsed(a_run(steps={OHLCV: done}))
    assert told(before, begun, None, after) == [
        "run PENDING → RUNNING",
        f"{OHLCV} PENDING → READY",
        f"{OHLCV} READY → SUCCEEDED after 4.0 s",
    ]


def test_a_failure_is_told_with_its_reason_and_the_run_ends_last() -> None:
    running = parsed(a_run(ohlcv="SUCCEEDED", charts="RUNNING"))
    steps = {
        OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", timeframe="1M"),
        CHARTS: a_step("CHART_EXPORT", "FAILED", [OHLCV], error=WHY, timeframe="1M"),
        REPORT: a_step("LLM_REPORT", "SKIPPED", [CHARTS], timeframe="1M"),
    }
    ended = parsed(a_run("FAILED", steps=steps, finishedAt=to_text(LATER)))
    lines = told(running, ended)[3:]
    assert lines[0] == f"{CHARTS} RUNNING → FAILED: CHART_API_FAILED: the server said no"
    assert lines[1].startswith(f"{REPORT} PENDING → SKIPPED")
    assert lines[2] == "run RUNNING → FAILED after 4.0 s"


def test_a_step_that_will_be_tried_again_says_when() -> None:
    rest = a_step("CHART_EXPORT", notBefore=to_text(LATER), failures=1, attempt=1, timeframe="1M")
    first, again = parsed(a_run(steps={CHARTS: a_step("CHART_EXPORT", "RUNNING")})), parsed(a_run(steps={CHARTS: rest}))
    second = parsed(a_run(steps={CHARTS: a_step("CHART_EXPORT", "RUNNING", attempt=2)}))
    *_, resting, running = told(first, again, second)
    assert resting.startswith(f"{CHARTS} RUNNING → PENDING: failure 1 of 3, again after ")
    assert running == f"{CHARTS} PENDING → RUNNING, attempt 2"


def test_on_a_terminal_each_step_is_one_line_while_it_runs_and_whole_at_the_end() -> None:
    run = parsed(a_run(steps={CHARTS: a_step("CHART_EXPORT", "SUCCEEDED", outputs={"gcs_uri": LONG}, timeframe="1M")}))
    title, heading, *lines = rows(run, 80, whole=False)
    assert RUN_ID in title
    assert heading.split() == ["step", "status", "took", "attempt", "artifact"]
    assert len(lines) == 1
    assert lines[0].split()[-1] == f"{CHARTS[:-1]}…", "what all names of the run begin with is left out"
    assert LONG in "".join(line.split()[-1] for line in rows(run, 80, whole=True)[2:])


def test_a_step_keeps_its_place_when_another_begins_first() -> None:
    screen = io.StringIO()
    idle, busy = a_step("X"), a_step("X", "RUNNING")
    runs = [parsed(a_run(steps=steps)) for steps in ({"a": idle, "b": idle}, {"a": idle, "b": busy})]
    show_all(Console(file=screen, width=80, force_terminal=True), (run for run in runs))
    last = screen.getvalue().rpartition("attempt")[2]
    assert last.index(" a ") < last.index(" b ")


def test_a_terminal_keeps_the_whole_table() -> None:
    screen = io.StringIO()
    run = parsed(a_run("SUCCEEDED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED"))
    last = show_all(Console(file=screen, width=200, force_terminal=True), (each for each in (run, None)))
    assert last == run
    assert screen.getvalue().rpartition("attempt")[2].count("gs://artifacts/some/object") == 3
