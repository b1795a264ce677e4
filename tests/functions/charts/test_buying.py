"""Charts that are bought: the order on the wire, the accounts that pay for it, and every kind of bad weather."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.faults import Fault, delay, drop, drop_after, hang, refuse, shape, status
from flowcore.domain.times import to_text
from flowcore.testing.builders import CHARTS, RUN_ID
from tests.functions.charts.desk import FOLDER, KEYS, Desk, chart_run
from tests.functions.charts.test_export import failures, items
from tests.functions.charts.test_manifest import VALIDATOR


def now() -> datetime:
    return datetime.now(UTC)


def today() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)


def tomorrow() -> datetime:
    return today() + timedelta(days=1)


def used_up() -> dict[str, object]:
    return {"windowStart": to_text(today()), "usageToday": 44}


@pytest.fixture(autouse=True)
def far_from_midnight() -> None:
    if datetime.now(UTC) > tomorrow() - timedelta(seconds=30):
        pytest.skip("the day changes within this test")


def bought(desk: Desk) -> list[dict[str, Any]]:
    return [dict(record.detail) | {"symbol": record.resource} for record in desk.system.faults.history.of("chart")]


# --- the order --------------------------------------------------------------------------------------------


@pytest.mark.acceptance("D11")
def test_run_step_and_settings_overrule_the_template(desk: Desk) -> None:
    request = {"symbol": "NASDAQ:AAPL", "interval": "1m", "timezone": "Asia/Tokyo", "theme": "dark"}
    desk.load("one", chartImgSymbolTemplate="BYBIT:{symbol}.P", request=request)
    with desk.buying(CHARTS_TIMEZONE="Europe/Paris"):
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    (order,) = bought(desk)
    assert (order["symbol"], order["interval"], order["timezone"]) == ("BYBIT:BTCUSDT.P", "1D", "Europe/Paris")
    assert order["theme"] == "dark"


@pytest.mark.acceptance("D13")
@pytest.mark.parametrize("weather", [None, status(403, f"no such key: {KEYS['first']}")], ids=["fair", "refused"])
def test_the_key_is_in_the_header_and_nowhere_else(desk: Desk, weather: Fault | None) -> None:
    if weather:
        desk.plan(weather, times=1)
    with desk.buying():
        desk.start(chart_run(inputs={"minImages": 1}))
    assert desk.system.calls("chart_img", "AdvancedChart", "BINANCE:BTCUSDT") == 2
    assert desk.system.platform.chart_img.quotas.used(KEYS["first"]) == (1 if weather else 2)
    seen = [
        json.dumps(desk.system.run(RUN_ID), default=str),
        json.dumps(desk.usage()),
        json.dumps(desk.manifest()),
        *desk.system.lines,
        *map(str, desk.system.faults.history.of()),
    ]
    assert not [text for text in seen if KEYS["first"] in text]


# --- weather ----------------------------------------------------------------------------------------------


@pytest.mark.acceptance("D15")
@pytest.mark.parametrize(
    "action",
    [
        *(status(code) for code in (500, 502, 503, 504)),
        hang(5),
        hang(0.01),
        drop(),
        drop_after(),
        refuse(),
        shape("truncated_png"),
    ],
    ids=["500", "502", "503", "504", "timeout", "hang", "drop", "drop after", "refuse", "half a picture"],
)
def test_what_passes_is_tried_again(desk: Desk, action: Fault) -> None:
    planned = desk.plan(action, times=2)
    with desk.buying(GEMINI_TIMEOUT_SECONDS="1"):
        step = desk.start(chart_run(["one"]))
    assert (step["status"], planned.fired, desk.orders()) == ("SUCCEEDED", 2, 3)
    naps = desk.system.clock.naps  # others nap too
    assert [nap for nap in naps if 0.25 <= nap <= 0.5]
    assert [nap for nap in naps if 0.5 <= nap <= 1.0]
    assert (desk.usage() or {})["usageToday"] == 3  # counted before each call: never too few


@pytest.mark.acceptance("D15")
@pytest.mark.parametrize("action", [status(503), drop_after(), refuse()], ids=["503", "drop after", "refuse"])
def test_what_does_not_pass_is_given_up_after_three_calls_and_scheduled_again(desk: Desk, action: Fault) -> None:
    desk.plan(action)
    with desk.buying():
        step = desk.start(chart_run(["one"], retry={"maxAttempts": 2}))
    assert (step["status"], desk.orders()) == ("PENDING", 3)
    (attempt,) = step["attempts"]
    assert (attempt["error"]["code"], attempt["error"]["retryable"]) == ("CHART_API_FAILED", True)
    assert datetime.fromisoformat(str(step["notBefore"])) > now()


def test_advice_to_wait_is_followed(desk: Desk) -> None:
    desk.plan(status(503, retry_after=9), times=1)
    with desk.buying():
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    assert 9.0 in desk.system.clock.naps


def test_a_slow_service_is_waited_for(desk: Desk) -> None:
    desk.plan(delay(0.1), times=1)
    with desk.buying():
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    assert desk.orders() == 1


@pytest.mark.acceptance("D14")
def test_an_answer_that_is_no_picture_is_not_asked_for_again(desk: Desk) -> None:
    desk.plan(shape("non_png"), times=1)
    with desk.buying():
        step = desk.start(chart_run(["one"]))
    assert (step["status"], step["error"]["code"], step["error"]["retryable"]) == ("FAILED", "CHART_API_FAILED", False)
    assert step["error"]["details"]["reason"] == "not_a_png"
    assert (desk.orders(), desk.objects()) == (1, ["manifest.attempt-1.json"])


@pytest.mark.acceptance("D16")
@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_a_refusal_stays_one(desk: Desk, code: int) -> None:
    desk.plan(status(code))
    with desk.buying():
        step = desk.start(chart_run(["one"], retry={"maxAttempts": 3}))
    assert (step["status"], step["error"]["code"], step["error"]["retryable"]) == ("FAILED", "CHART_API_FAILED", False)
    assert step["error"]["details"]["status"] == code
    assert desk.orders() == 1


@pytest.mark.acceptance("D23")
def test_ten_charts_that_never_come_leave_time_to_say_so(desk: Desk) -> None:
    names = [f"slow-{number}" for number in range(10)]
    desk.load(*names)
    desk.plan(hang(30))
    started = time.monotonic()
    with desk.buying(INVOCATION_TIMEOUT_SECONDS="12", FINALIZE_BUDGET_SECONDS="2", GEMINI_TIMEOUT_SECONDS="0.3"):
        step = desk.start(chart_run(names))
    assert time.monotonic() - started + sum(desk.system.clock.naps) < 12 - 2
    assert (step["status"], step["error"]["code"], step["error"]["retryable"]) == ("FAILED", "CHART_API_FAILED", True)
    assert "did not answer" in step["error"]["message"]  # what took the time, not the want of it
    evidence = desk.manifest("manifest.attempt-1.json")
    VALIDATOR.validate(evidence)
    assert [name for name, _ in failures(evidence)] == names
    reasons = [each["error"].get("details", {}).get("reason") for each in evidence["failures"]]
    begun = reasons.index("time_budget")
    assert 2 <= begun <= 4
    assert reasons[begun:] == ["time_budget"] * (10 - begun)
    assert desk.orders() == 3 * begun


# --- accounts ---------------------------------------------------------------------------------------------


@pytest.mark.acceptance("D17")
@pytest.mark.parametrize(
    "action", [status(429, "Limit Exceeded"), status(403, "Daily limit exceeded")], ids=["429", "in words"]
)
def test_when_an_account_is_used_up_the_next_one_pays(desk: Desk, action: Fault) -> None:
    desk.plan(action, times=1)
    with desk.buying("first", "second"):
        step = desk.start(chart_run())
    assert step["status"] == "SUCCEEDED"
    first, second = desk.usage("first") or {}, desk.usage("second") or {}
    assert (first["exhaustedUntil"], first["usageToday"]) == (to_text(tomorrow()), 1)
    assert (second["usageToday"], "exhaustedUntil" in second) == (2, False)
    assert desk.orders() == 3  # the first account is not asked for the second chart
    assert "chart_account_exhausted" in [line["event"] for line in desk.system.logs]


def test_an_account_that_may_be_asked_again_soon_is_closed_until_then(desk: Desk) -> None:
    desk.plan(status(429, "Too Many Requests", retry_after=90), times=1)
    began = now()
    with desk.buying("first", "second"):
        desk.start(chart_run(["one"]))
    until = datetime.fromisoformat((desk.usage("first") or {})["exhaustedUntil"])
    assert began + timedelta(seconds=90) <= until <= now() + timedelta(seconds=90)


@pytest.mark.acceptance("D18")
def test_when_all_are_used_up_nobody_is_asked(desk: Desk) -> None:
    for account in ("first", "second"):
        desk.system.put(f"chart_img_accounts_usage/{account}", used_up())
    with desk.buying("first", "second"):
        step = desk.start(chart_run())
    assert (step["status"], step["error"]["code"]) == ("FAILED", "RATE_LIMITED")
    assert step["error"]["details"]["reason"] == "CHART_API_LIMIT_EXCEEDED"
    assert 0 < step["error"]["details"]["retryAfterSeconds"] <= 86_400
    evidence = desk.manifest("manifest.attempt-1.json")
    VALIDATOR.validate(evidence)
    assert failures(evidence) == [("one", "RATE_LIMITED"), ("two", "RATE_LIMITED")]
    assert step["outputs"]["outputsManifestGcsUri"] == f"gs://artifacts/{FOLDER}/manifest.attempt-1.json"
    assert desk.orders() == 0


def test_a_used_up_day_is_waited_out_by_the_orchestrator(desk: Desk) -> None:
    desk.system.put("chart_img_accounts_usage/first", used_up())
    began = now()
    with desk.buying():
        step = desk.start(chart_run(["one"], retry={"maxAttempts": 2}))
    wait = datetime.fromisoformat(str(step["notBefore"])) - began
    longest = min(timedelta(hours=1), tomorrow() - began)
    assert (step["status"], desk.orders()) == ("PENDING", 0)
    assert longest - timedelta(minutes=1) < wait <= timedelta(hours=1) + (now() - began)


@pytest.mark.acceptance("D19")
def test_an_account_that_ends_in_the_middle_leaves_what_it_paid_for(desk: Desk) -> None:
    with desk.buying(limit=1):
        step = desk.start(chart_run(inputs={"minImages": 1}))
    assert step["status"] == "SUCCEEDED"
    manifest = desk.manifest()
    VALIDATOR.validate(manifest)
    assert (items(manifest), failures(manifest)) == (["one"], [("two", "RATE_LIMITED")])
    assert None not in manifest["failures"][0]["error"].values()
    assert desk.orders() == 1


@pytest.mark.acceptance("D20")
def test_the_first_chart_of_an_account_begins_its_count(desk: Desk) -> None:
    with desk.buying():
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    assert desk.usage() == {"windowStart": to_text(today()), "usageToday": 1}


@pytest.mark.acceptance("D21")
def test_a_new_day_begins_at_midnight_utc(desk: Desk) -> None:
    yesterday = {"windowStart": to_text(today() - timedelta(days=1)), "usageToday": 44, "dailyLimit": 3}
    desk.system.put("chart_img_accounts_usage/first", yesterday)
    with desk.buying():
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    assert desk.usage() == {"windowStart": to_text(today()), "usageToday": 1, "dailyLimit": 3}


@pytest.mark.acceptance("D22")
def test_two_steps_do_not_spend_the_same_unit(desk: Desk) -> None:
    other = RUN_ID.replace("a1b2c", "d4e5f")
    desk.system.put("chart_img_accounts_usage/first", {**used_up(), "usageToday": 43})
    held = desk.system.faults.add(service="firestore", method="*", resource="*accounts_usage/first", action=delay(0.05))
    with desk.buying():
        desk.system.put(f"flow_runs/{other}", {**chart_run(["one"]), "runId": other})
        desk.start(chart_run(["one"]))
    statuses = sorted(desk.system.step(run_id, CHARTS)["status"] for run_id in (RUN_ID, other))
    assert (statuses, desk.orders()) == (["FAILED", "SUCCEEDED"], 1)
    assert (desk.usage() or {})["usageToday"] == 44
    assert held.fired > 2


def test_a_counter_that_cannot_be_read_costs_no_call(desk: Desk) -> None:
    silent = desk.system.faults.add(service="firestore", resource="*accounts_usage/first", action=status(503))
    with desk.buying():
        step = desk.start(chart_run(["one"]))
    assert (step["status"], step["error"]["code"], desk.orders()) == ("FAILED", "FIRESTORE_UNAVAILABLE", 0)
    assert silent.fired == 3


def test_a_mark_that_cannot_be_written_does_not_cost_the_chart(desk: Desk) -> None:
    desk.plan(status(429), times=1)
    with desk.buying("first", "second"):
        lost = desk.system.faults.add(service="firestore", resource="*accounts_usage/first", action=status(503), skip=2)
        step = desk.start(chart_run(["one"]))
    assert (step["status"], desk.orders()) == ("SUCCEEDED", 2)
    assert lost.fired >= 1
    assert "chart_usage_unmarked" in [line["event"] for line in desk.system.logs]


def test_a_template_is_asked_for_again_when_firestore_is_silent(desk: Desk) -> None:
    silent = desk.system.faults.add(service="firestore", resource="*chart_templates/one", action=status(503), times=2)
    with desk.buying():
        assert desk.start(chart_run(["one"]))["status"] == "SUCCEEDED"
    assert (silent.fired, desk.orders()) == (2, 1)
