"""`flow cancel | skip | retry | rerun`: one patch each, and only if the run's state allows it."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from emulator.faults import drop_after, status
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step
from tests.cli.conftest import Desk
from tests.cli.typing_it import typed

BLOCKED = {"code": "LLM_SAFETY_BLOCK", "message": "no", "retryable": False}
DEPENDENCY = {"code": "DEPENDENCY_NOT_SUCCEEDED", "message": "no", "details": {"dependency": OHLCV}}


def failed() -> dict[str, object]:
    """The candles failed, and the rest was skipped because of it."""
    now = datetime.now(UTC)
    return a_run(
        "FAILED",
        at=now,
        steps={
            OHLCV: a_step("OHLCV_EXPORT", "FAILED", at=now, timeframe="1M"),
            CHARTS: a_step("CHART_EXPORT", "SKIPPED", [OHLCV], at=now, timeframe="1M", error=DEPENDENCY),
            REPORT: a_step("LLM_REPORT", "SKIPPED", [CHARTS], at=now, timeframe="1M", error=DEPENDENCY),
        },
    )


def test_cancel_ends_what_has_not_begun(desk: Desk) -> None:
    desk.put(a_run(ohlcv="SUCCEEDED", charts="RUNNING", at=datetime.now(UTC)))
    said = typed("cancel", RUN_ID)
    assert (said.code, said.err) == (0, "")
    assert f"{RUN_ID} is CANCELLED" in said.out
    assert desk.statuses() == ["CANCELLED", "RUNNING", "CANCELLED", "SUCCEEDED"]


def test_cancel_twice_is_cancel_once(desk: Desk) -> None:
    desk.put(a_run(at=datetime.now(UTC)))
    assert typed("cancel", RUN_ID).code == 0
    before = desk.run()
    assert typed("cancel", RUN_ID, "--json").data["status"] == "CANCELLED"
    assert desk.run() == before


def test_retry_gives_what_failed_a_fresh_start(desk: Desk) -> None:
    desk.put(failed())
    said = typed("retry", RUN_ID, OHLCV)
    assert (said.code, said.err) == (0, "")
    assert f"next: flow watch {RUN_ID}" in said.out
    assert desk.statuses() == ["RUNNING", "PENDING", "PENDING", "READY"]
    assert desk.run()["steps"][OHLCV]["failures"] == 0


def test_retry_of_no_step_in_particular_is_of_all_that_may(desk: Desk) -> None:
    desk.put(failed())
    assert typed("retry", RUN_ID, "--json").data["steps"][OHLCV] == "READY"


def test_retry_and_skip_in_one_go(desk: Desk) -> None:
    steps: Mapping[str, Mapping[str, object]] = {
        "a": a_step("X", "FAILED"),
        "b": a_step("LLM_REPORT", "FAILED", error=BLOCKED, timeframe="1M"),
    }
    desk.put(a_run("FAILED", steps=steps))
    refused = typed("retry", RUN_ID)
    assert refused.code == 4
    assert "because of b; retry or skip them as well" in refused.complaint
    assert typed("retry", RUN_ID, "--skip", "b").code == 0
    assert desk.statuses() == ["RUNNING", "READY", "SKIPPED"]


def test_skip_goes_on_without_the_step(desk: Desk) -> None:
    desk.put(failed())
    said = typed("skip", RUN_ID, OHLCV)
    assert (said.code, said.err) == (0, "")
    assert desk.statuses() == ["SUCCEEDED", "SKIPPED", "SKIPPED", "SKIPPED"]


@pytest.mark.parametrize("words", [("retry", RUN_ID, OHLCV), ("skip", RUN_ID, OHLCV)])
def test_a_lost_reply_is_not_taken_for_a_refusal(desk: Desk, words: tuple[str, ...]) -> None:
    desk.put(failed())
    lost = desk.platform.faults.add(service="firestore", method="Commit", action=drop_after(), times=1)
    said = typed(*words)
    assert (said.code, said.err) == (0, "")
    assert lost.fired == 1
    assert desk.statuses()[0] != "FAILED"


def test_a_lost_race_is_decided_anew(desk: Desk) -> None:
    desk.put(failed())
    beaten = desk.platform.faults.add(
        service="firestore", method="Commit", action=status("FAILED_PRECONDITION"), times=1
    )
    assert typed("retry", RUN_ID).code == 0
    assert beaten.fired == 1
    assert desk.statuses() == ["RUNNING", "PENDING", "PENDING", "READY"]


def test_rerun_is_a_new_run_from_the_same_inputs(desk: Desk) -> None:
    old = failed()
    old["steps"][OHLCV]["inputs"] = {"symbol": "BTCUSDT"}  # type: ignore[index]
    old["requestSha256"] = "of the old one"
    desk.put(old)
    said = typed("rerun", RUN_ID, "--json")
    assert said.code == 0
    new = desk.run(said.data["runId"])
    assert said.data["runId"] != RUN_ID
    assert desk.statuses(new["runId"]) == ["PENDING"] * 4
    assert new["trigger"] == {"type": "USER", "source": f"flow rerun {RUN_ID}"}
    assert new["scope"] == old["scope"]
    assert new["steps"][OHLCV].keys() == {
        "stepType",
        "status",
        "dependsOn",
        "createdAt",
        "inputs",
        "outputs",
        "timeframe",
    }
    assert new["steps"][OHLCV]["inputs"] == {"symbol": "BTCUSDT"}
    assert "requestSha256" not in new
    assert desk.run() == old


def test_rerun_of_a_broken_run_is_refused(desk: Desk) -> None:
    desk.put(a_run("FAILED", steps={"a": a_step("X", depends_on=["b"])}))
    said = typed("rerun", RUN_ID)
    assert said.code == 4
    assert "steps.a.dependsOn[0]" in said.complaint
