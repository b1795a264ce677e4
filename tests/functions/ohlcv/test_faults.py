"""Whatever BigQuery does: the documented code, the documented number of calls, and a step that is not left behind."""

from __future__ import annotations

import time

import pytest

from emulator.faults import Fault, drop, drop_after, hang, refuse, status
from flowcore.testing.builders import RUN_ID
from tests.functions.ohlcv.market import OBJECT, STEP, Market, a_month

FAILED = ("BQ_QUERY_FAILED", False)
SILENT = ("BQ_QUERY_FAILED", True)
LIMITED = ("RATE_LIMITED", True)
FAULTS: dict[str, tuple[Fault, tuple[str, bool], int]] = {
    "400": (status(400), FAILED, 1),
    "401": (status(401), FAILED, 1),
    "403": (status(403), FAILED, 1),
    "403 quota": (status(403, "Quota exceeded: too much was read today"), LIMITED, 1),
    "403 rate": (status(403, "Exceeded rate limits: too many at once"), LIMITED, 5),
    "404": (status(404), FAILED, 1),
    "409": (status(409), FAILED, 1),
    "429": (status(429), LIMITED, 5),
    "500": (status(500), SILENT, 5),
    "501": (status(501), FAILED, 1),
    "502": (status(502), SILENT, 5),
    "503": (status(503), SILENT, 5),
    "504": (status(504), SILENT, 5),
    "dropped": (drop(), SILENT, 5),
    "dropped afterwards": (drop_after(), SILENT, 5),
    "refused": (refuse(), SILENT, 5),
}
# 11,000 candles of the seeded table: two pages, and less than what is stored in one call.
FOUR_HOURS = {"exportMode": "range", "rangeFrom": "2020-11-01", "rangeTo": "2025-12-01"}
# Five pages, and more than what is stored in one call.
HOURS = {"exportMode": "range", "rangeFrom": "2020-12-01", "rangeTo": "2025-12-01"}
ANOTHER = "20251224-120001_BTCUSDT_a1b2c"


@pytest.mark.acceptance("C7", "C8")
@pytest.mark.parametrize(("fault", "error", "calls"), FAULTS.values(), ids=FAULTS)
def test_a_fault_that_stays(market: Market, fault: Fault, error: tuple[str, bool], calls: int) -> None:
    market.holds(a_month(1))
    planned = market.system.faults.add(service="bigquery", method="jobs.query", action=fault)
    step = market.export()
    assert (step["status"], step.error) == ("FAILED", error)
    assert planned.fired == market.queries == calls
    assert len(market.system.clock.naps) == calls - 1
    assert market.system.objects() == []
    assert market.system.run(RUN_ID)["status"] == "FAILED"


@pytest.mark.parametrize(("fault", "error", "calls"), FAULTS.values(), ids=FAULTS)
def test_a_fault_that_passes(market: Market, fault: Fault, error: tuple[str, bool], calls: int) -> None:
    market.holds(a_month(1))
    market.system.faults.add(service="bigquery", method="jobs.query", action=fault, times=1)
    step = market.export()
    assert step["status"] == ("SUCCEEDED" if calls > 1 else "FAILED")
    assert market.queries == (2 if calls > 1 else 1)


def test_a_step_that_may_be_tried_again_rests(market: Market) -> None:
    market.holds(a_month(1))
    market.system.faults.add(service="bigquery", method="jobs.query", action=status(503), times=5)
    step = market.export(max_attempts=2)
    assert (step["status"], step["failures"], market.queries) == ("PENDING", 1, 5)
    assert step["attempts"][0]["error"]["code"] == "BQ_QUERY_FAILED"
    market.system.later(3_600)
    market.system.sweep()
    assert market.system.step(RUN_ID, STEP)["status"] == "SUCCEEDED"


def test_a_servers_wish_for_patience_is_met(market: Market) -> None:
    market.holds(a_month(1))
    market.system.faults.add(service="bigquery", method="jobs.query", action=status(429, retry_after=17), times=1)
    assert market.export()["status"] == "SUCCEEDED"
    assert market.system.clock.naps == [17]


def test_bigquery_that_says_nothing_is_not_waited_for_beyond_the_reserve(market: Market) -> None:
    market.holds(a_month(1))
    market.system.faults.add(service="bigquery", method="jobs.query", action=hang(30))
    began = time.monotonic()
    with market.system.configured(
        INVOCATION_TIMEOUT_SECONDS="11", GEMINI_TIMEOUT_SECONDS="1", FINALIZE_BUDGET_SECONDS="10"
    ):
        step = market.export()
    assert (step["status"], step.error, market.queries) == ("FAILED", SILENT, 1)
    assert time.monotonic() - began < 5


def test_a_query_that_hangs_leaves_time_for_another(market: Market) -> None:
    """Room for much more is left; but one call has no more than the deployment gives it."""
    market.holds(a_month(1))
    planned = market.system.faults.add(service="bigquery", method="jobs.query", action=hang(25), times=1)
    began = time.monotonic()
    with market.system.configured(GEMINI_TIMEOUT_SECONDS="2"):
        step = market.export()
    assert (step["status"], market.queries, planned.fired) == ("SUCCEEDED", 2, 1)
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("fault", [status(503), drop()], ids=["503", "dropped"])
def test_a_page_that_fails_is_made_up_for_and_the_bytes_are_the_same(seeded: Market, fault: Fault) -> None:
    whole = seeded.export("4h", ANOTHER, inputs=FOUR_HOURS)
    assert (whole["status"], seeded.queries) == ("SUCCEEDED", 1)
    assert seeded.system.calls("bigquery", "jobs.getQueryResults") >= 1
    planned = seeded.system.faults.add(service="bigquery", method="jobs.getQueryResults", action=fault, times=1)
    mended = seeded.export("4h", inputs=FOUR_HOURS)
    assert mended["status"] == "SUCCEEDED"
    assert (planned.fired, seeded.queries) == (1, 3), "what was missing is a query of its own"
    name = "runs/{}/ohlcv/4h.json".format
    assert seeded.system.object(name(RUN_ID)) == seeded.system.object(name(ANOTHER))


def test_a_page_that_is_refused_fails_the_step_and_leaves_no_object(seeded: Market) -> None:
    seeded.system.faults.add(service="bigquery", method="jobs.getQueryResults", action=status(403))
    step = seeded.export("1h", inputs=HOURS)
    assert (step["status"], step.error, seeded.queries) == ("FAILED", FAILED, 1)
    assert seeded.system.objects() == []


def test_a_source_that_breaks_off_in_a_large_upload_leaves_no_object(seeded: Market) -> None:
    """Four pages are on their way into Cloud Storage already, as the beginning of an upload that is never finished."""
    seeded.system.faults.add(service="bigquery", method="jobs.getQueryResults", action=status(503), skip=3)
    seeded.system.faults.add(service="bigquery", method="jobs.query", action=status(503), skip=1)
    step = seeded.export("1h", inputs=HOURS)
    assert (step["status"], step.error, seeded.queries) == ("FAILED", SILENT, 5)
    assert seeded.system.calls("storage", "objects.insert.start") == 1
    assert seeded.system.objects() == []


def test_what_is_large_is_stored_in_pieces_and_described_afterwards(seeded: Market) -> None:
    step = seeded.export("1h", inputs=HOURS)
    assert step["status"] == "SUCCEEDED"
    assert step["outputs"]["candles"]["count"] == 5 * 365 * 24 + 24 + 24  # a leap day, and the last day itself
    assert seeded.system.calls("storage", "objects.insert.chunk") >= 1
    found = seeded.system.bucket.get_blob(OBJECT.replace("1M", "1h"))
    assert found.size > 4 * 2**20
    assert set(found.metadata) >= {"run", "step", "sha256", "inputs-sha256", "outputs"}
