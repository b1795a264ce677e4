"""BigQuery: one query with parameters, a deadline that holds, and our words for its errors."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.bigquery import BigQueryServer
from emulator.faults import Fault, drop, drop_after, hang, refuse, status
from emulator.web import Reply, Server
from flowcore.adapters import bigquery as adapter
from flowcore.adapters.bigquery import PAGE, BigQueryCandles
from flowcore.domain.errors import AuthenticationError, Code, NetworkError, StepFailed
from tests.ports.candles import overheard
from tests.ports.candles.conftest import TABLE, in_bigquery
from tests.ports.candles.rows import YEAR, a_row
from tests.ports.trickle import TRICKLES, trickling

QUOTES = "x' OR '1'='1\" \\ -- `"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return overheard.queries(monkeypatch)


@pytest.mark.acceptance("C5")
@pytest.mark.parametrize("exchange", [None, "BINANCE"])
def test_time_is_bounded_on_both_sides_and_values_are_parameters(
    bigquery: BigQueryServer, asked: list[dict[str, Any]], exchange: str | None
) -> None:
    list(in_bigquery(bigquery, [a_row(0)]).candles(replace(YEAR, exchange=exchange), 10))
    (body,) = asked
    assert "timestamp >= @since AND timestamp <= @until" in body["query"]
    parameters = overheard.parameters(body)
    assert set(parameters) == {"since", "until", "symbol", "timeframe", *(["exchange"] if exchange else [])}
    assert (parameters["since"][:19], parameters["until"][:19]) == ("2025-01-01 00:00:00", "2025-12-31 00:00:00")
    assert not any(value in body["query"] for value in parameters.values())


@pytest.mark.acceptance("C6")
def test_quotes_stay_in_their_parameters(bigquery: BigQueryServer, asked: list[dict[str, Any]]) -> None:
    source = in_bigquery(bigquery, [a_row(0)])
    assert list(source.candles(replace(YEAR, symbol=QUOTES, exchange=QUOTES), 10)) == []
    assert len(list(source.candles(replace(YEAR, exchange="BINANCE"), 10))) == 1
    harmful, harmless = asked
    assert harmful["query"] == harmless["query"]
    assert overheard.parameters(harmful)["exchange"] == QUOTES


def test_what_a_query_may_bill_is_limited(bigquery: BigQueryServer) -> None:
    with pytest.raises(StepFailed, match="BIGQUERY_MAX_BYTES") as failed:
        list(in_bigquery(bigquery, [a_row(0)], maximum_bytes=1).candles(YEAR, 10))
    assert (failed.value.error.code, failed.value.error.retryable) == (Code.BQ_QUERY_FAILED, False)
    assert failed.value.error.details == {"status": "400", "reason": "too_many_bytes"}


def test_many_candles_come_in_pages(bigquery: BigQueryServer) -> None:
    source = BigQueryCandles.connected("market.candles", 2**30, 60, emulated=True)
    hourly = replace(YEAR, timeframe="1h", since=YEAR.since.replace(year=2023))
    candles = list(source.candles(hourly, 30))
    assert len(candles) == 3 * 365 * 24 + 1 > 2 * PAGE
    assert candles == sorted(set(candles), key=lambda candle: candle.time)
    assert bigquery.faults.calls.count("bigquery", "jobs.query") == 1
    assert bigquery.faults.calls.count("bigquery", "jobs.getQueryResults") == 2


REFUSED = (StepFailed, Code.BQ_QUERY_FAILED, False)
NOT_ALLOWED = (AuthenticationError, Code.BQ_QUERY_FAILED, False)
SILENT = (NetworkError, Code.BQ_QUERY_FAILED, True)
LIMITED = (NetworkError, Code.RATE_LIMITED, True)
USED_UP = (StepFailed, Code.RATE_LIMITED, True)


ERRORS = {
    "400": (status(400), REFUSED),
    "401": (status(401), NOT_ALLOWED),
    "403": (status(403), NOT_ALLOWED),
    "403 quota": (status(403, "Quota exceeded: too much was read today"), USED_UP),
    "403 rate": (status(403, "Exceeded rate limits: too many at once"), LIMITED),
    "404": (status(404), REFUSED),
    "409": (status(409), REFUSED),
    "429": (status(429), LIMITED),
    "500": (status(500), SILENT),
    "501": (status(501), REFUSED),
    "502": (status(502), SILENT),
    "503": (status(503), SILENT),
    "504": (status(504), SILENT),
    "dropped": (drop(), SILENT),
    "dropped afterwards": (drop_after(), SILENT),
    "refused": (refuse(), SILENT),
}


@pytest.mark.parametrize(("fault", "expected"), ERRORS.values(), ids=ERRORS)
def test_errors_become_ours_after_one_call(
    bigquery: BigQueryServer, fault: Fault, expected: tuple[type[StepFailed], Code, bool]
) -> None:
    source = in_bigquery(bigquery, [a_row(0)])
    planned = bigquery.faults.add(action=fault, service="bigquery", method="jobs.query")
    with pytest.raises(StepFailed) as failed:
        list(source.candles(YEAR, 10))
    kind, code, retryable = expected
    assert type(failed.value) is kind
    assert (failed.value.error.code, failed.value.error.retryable) == (code, retryable)
    assert "by request of the test" not in failed.value.error.message, "a provider's words are not ours to publish"
    assert planned.fired == bigquery.faults.calls.count("bigquery", "jobs.query") == 1


def test_a_process_without_an_account_is_not_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(AuthenticationError) as failed:
        BigQueryCandles.connected(TABLE, 2**30, 60, emulated=False)
    assert (failed.value.error.code, failed.value.error.retryable) == (Code.BQ_QUERY_FAILED, False)


def test_a_query_has_no_more_time_than_the_deployment_gives_it(bigquery: BigQueryServer) -> None:
    source = BigQueryCandles.connected("market.candles", 2**30, 2.0, emulated=True)
    bigquery.faults.add(action=hang(30), service="bigquery", method="jobs.query")
    began = time.monotonic()
    with pytest.raises(NetworkError):
        list(source.candles(YEAR, 60))
    assert time.monotonic() - began < 15


def test_a_servers_wish_for_patience_is_handed_on(bigquery: BigQueryServer) -> None:
    source = in_bigquery(bigquery, [a_row(0)])
    bigquery.faults.add(action=status(429, retry_after=17), service="bigquery")
    with pytest.raises(NetworkError) as failed:
        list(source.candles(YEAR, 10))
    assert failed.value.error.retry_after == 17


def test_a_missing_table_is_named(bigquery: BigQueryServer) -> None:
    with pytest.raises(StepFailed, match=r"test\.elsewhere.*CANDLES_TABLE") as failed:
        list(BigQueryCandles.connected("test.elsewhere", 2**30, 60, emulated=True).candles(YEAR, 10))
    assert not failed.value.error.retryable


def test_a_table_with_other_columns_is_refused(bigquery: BigQueryServer) -> None:
    bigquery.create_table(TABLE, [{"name": "timestamp", "type": "TIMESTAMP"}])
    with pytest.raises(StepFailed, match="columns") as failed:
        list(BigQueryCandles.connected(TABLE, 2**30, 60, emulated=True).candles(YEAR, 10))
    assert not failed.value.error.retryable


@pytest.mark.parametrize("method", ["jobs.query", "jobs.get", "jobs.getQueryResults"])
def test_whichever_call_hangs_the_deadline_holds(
    bigquery: BigQueryServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The SDK alone would wait for two minutes."""
    monkeypatch.setattr(adapter, "PAGE", 100)  # so that the second page is reached at once
    source = BigQueryCandles.connected("market.candles", 2**30, 60, emulated=True)
    hourly = replace(YEAR, timeframe="1h", until=YEAR.since.replace(month=2))
    list(source.candles(replace(hourly, until=hourly.since), 10))  # what the emulator makes when first asked is there
    planned = bigquery.faults.add(action=hang(30), service="bigquery", method=method)
    began = time.monotonic()
    with pytest.raises(NetworkError) as failed:
        list(source.candles(hourly, 3.0))  # a busy machine needs one of them to get to the call that hangs
    assert planned.fired
    assert failed.value.error.code is Code.BQ_QUERY_FAILED
    assert time.monotonic() - began < 6


@pytest.mark.usefixtures("bigquery")
@pytest.mark.parametrize("manner", TRICKLES)
def test_an_answer_that_trickles_is_silence_in_the_end(monkeypatch: pytest.MonkeyPatch, manner: str) -> None:
    with trickling(manner) as url:
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", url)
        began = time.monotonic()
        with pytest.raises(NetworkError) as failed:
            list(BigQueryCandles.connected(TABLE, 2**30, 60, emulated=True).candles(YEAR, 0.5))
        assert time.monotonic() - began < 2
    assert failed.value.error.code is Code.BQ_QUERY_FAILED


@pytest.mark.usefixtures("bigquery")
@pytest.mark.parametrize("body", [b"", b"[]", b"<html>One moment, please.</html>", b'{"rows": 5'])
def test_an_answer_that_cannot_be_read_is_silence(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    server = Server(lambda _: Reply(200, body, {"Content-Type": "application/json"})).start()
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", server.url)
    try:
        with pytest.raises(NetworkError) as failed:
            list(BigQueryCandles.connected(TABLE, 2**30, 60, emulated=True).candles(YEAR, 5))
    finally:
        server.stop()
    assert failed.value.error.code is Code.BQ_QUERY_FAILED
