"""What an export leaves behind: rows C1 to C15 of the acceptance list, through real events."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from emulator.faults import status
from flowcore.contracts.candles import read_candles
from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import T0
from tests.functions.ohlcv.market import OBJECT, STEP, Market, a_month
from tests.ports.candles import overheard
from tests.ports.candles.rows import a_row

INVALID = ("INVALID_STEP_INPUTS", False)
LATER = "20251224-130000_BTCUSDT_z9y8x"


@pytest.mark.acceptance("C1")
def test_candles_become_one_object_and_the_step_points_at_it(market: Market) -> None:
    market.holds(a_month(1), a_month(2), a_month(3))
    step = market.export()
    assert step["status"] == "SUCCEEDED"
    assert step["outputs"]["gcs_uri"] == f"gs://artifacts/{OBJECT}"
    assert step["outputs"]["candles"] == {
        "count": 3,
        "skipped": 0,
        "first": "2025-01-01T00:00:00Z",
        "last": "2025-03-01T00:00:00Z",
    }
    assert market.system.objects() == [OBJECT]
    blob = market.system.bucket.get_blob(OBJECT)
    assert (blob.content_type, blob.metadata["step"]) == ("application/json", STEP)
    assert blob.metadata["sha256"] == sha256(market.system.object(OBJECT) or b"")
    assert market.system.run(RUN_ID)["status"] == "SUCCEEDED"


@pytest.mark.acceptance("C2")
def test_the_file_says_what_was_asked_and_what_was_found(market: Market) -> None:
    market.holds(a_month(2, close=20.0), a_month(1, open=1, high=3, low=1, close=2, volume=7), a_month(3, close=30.5))
    market.export()
    content = market.system.object(OBJECT) or b""
    file = json.loads(content)
    assert file["metadata"] == {
        "symbol": "BTCUSDT",
        "timeframe": "1M",
        "query_type": "all",
        "query_parameters": {"days": 5475},
        "source": "bigquery",
        "count": 3,
        "skipped": 0,
        "first": "2025-01-01T00:00:00Z",
        "last": "2025-03-01T00:00:00Z",
    }
    assert [row["date"] for row in file["data"]] == [f"2025-0{month}-01T00:00:00Z" for month in (1, 2, 3)]
    assert [row["close"] for row in file["data"]] == [2.0, 20.0, 30.5]
    assert set(file["data"][0]) == {"date", "open", "high", "low", "close", "volume"}
    assert all(type(row[name]) is float for row in file["data"] for name in row if name != "date")
    assert content == canonical_json(file)


@pytest.mark.acceptance("C2")
def test_the_same_rows_and_inputs_make_the_same_bytes_at_another_time(market: Market) -> None:
    market.holds(a_month(1), a_month(2))
    market.export()
    market.system.later(86_400)
    market.export(run_id=LATER)
    assert market.system.object(OBJECT) == market.system.object(f"runs/{LATER}/ohlcv/1M.json")


@pytest.mark.acceptance("C3")
@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2025-03-02T00:00:00Z", "2025-03-04T00:00:00Z", [2, 3, 4]),
        ("2025-03-02T02:00:00+02:00", "2025-03-04T00:00:00.5Z", [2, 3, 4]),
        ("2025-03-02", "2025-03-04", [2, 3, 4]),
        ("2025-03-02T00:00:01Z", "2025-03-03T23:59:59Z", [3]),
        ("2025-03-03", "2025-03-03", [3]),
        (datetime(2025, 3, 4, tzinfo=UTC), datetime(2025, 3, 30, tzinfo=UTC), [4, 5]),
    ],
)
def test_a_range_includes_both_its_bounds(market: Market, since: object, until: object, days: list[int]) -> None:
    market.holds(*(a_row(58 + day) for day in range(1, 6)))  # the first five days of March
    step = market.export(timeframe="1d", exportMode="range", rangeFrom=since, rangeTo=until)
    assert step["status"] == "SUCCEEDED"
    file = market.file("1d")
    assert [datetime.fromisoformat(row["date"]).day for row in file["data"]] == days
    assert file["metadata"]["query_type"] == "range"
    asked = file["metadata"]["query_parameters"]
    if isinstance(since, str):
        assert asked == {"range_from": since, "range_to": until}
    else:
        assert asked == {"range_from": "2025-03-04T00:00:00Z", "range_to": "2025-03-30T00:00:00Z"}


@pytest.mark.acceptance("C4", "C6")
@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ({"exportMode": "range", "rangeFrom": "2025-01-01"}, "inputs.rangeTo"),
        ({"exportMode": "range", "rangeTo": "2025-01-01"}, "inputs.rangeFrom"),
        ({"exportMode": "range", "rangeFrom": "2025-02-01", "rangeTo": "2025-01-01"}, "inputs.rangeFrom"),
        ({"exportMode": "range", "rangeFrom": "2025-02-30", "rangeTo": "2025-03-01"}, "inputs.rangeFrom"),
        ({"exportMode": "range", "rangeFrom": "2025-01-01T00:00:00", "rangeTo": "2025-03-01"}, "inputs.rangeFrom"),
        ({"exportMode": "range", "rangeFrom": 2025, "rangeTo": "2025-03-01"}, "inputs.rangeFrom"),
        ({"exportMode": "foo"}, "inputs.exportMode"),
        ({"exportMode": None}, "inputs.exportMode"),
        ({"source": "ftp"}, "inputs.source"),
        ({"source": None}, "inputs.source"),
        ({"source": "file"}, "inputs.file"),
        ({"timeframe": "2M"}, "inputs.timeframe"),
        ({"timeframe": ""}, "inputs.timeframe"),
        ({"timeframe": "1d"}, "inputs.timeframe"),
        ({"symbol": "btc/usdt"}, "inputs.symbol"),
        ({"symbol": "BTC' OR '1'='1"}, "inputs.symbol"),
        ({"symbol": "BTC\\"}, "inputs.symbol"),
        ({"symbol": "X" * 41}, "inputs.symbol"),
        ({"symbol": 7}, "inputs.symbol"),
        ({"symbol": ""}, "inputs.symbol"),
        ({"exchange": 'x"; DROP TABLE candles'}, "inputs.exchange"),
        ({"exchange": "BIN\\ANCE"}, "inputs.exchange"),
        ({"exchange": ""}, "inputs.exchange"),
        ({"table": "somewhere.else"}, "inputs.table"),
    ],
    ids=lambda value: " ".join(f"{key} {given}" for key, given in value.items()) if isinstance(value, dict) else "",
)
def test_inputs_that_cannot_be_used_are_named_and_nothing_is_asked(
    market: Market, inputs: dict[str, object], place: str
) -> None:
    step = market.export(inputs=inputs)
    assert step["status"] == "FAILED"
    assert step.error == INVALID
    assert step["error"]["message"].startswith(f"{place}: ")
    assert market.queries == 0
    assert market.system.objects() == []


@pytest.mark.acceptance("C5")
@pytest.mark.parametrize(
    ("inputs", "since", "until"),
    [
        ({"exportMode": "all"}, "2010-12-28 12:00:00", "2025-11-24 12:00:00"),
        ({"exportMode": "range", "rangeFrom": "2025-01-01", "rangeTo": "2025-02-28"}, "2025-01-01", "2025-02-28 23:59"),
        ({"exportMode": "all", "exchange": "BINANCE"}, "2010-12-28 12:00:00", "2025-11-24 12:00:00"),
    ],
    ids=["all", "range", "exchange"],
)
def test_every_query_is_bounded_and_says_its_values_apart(
    market: Market, monkeypatch: pytest.MonkeyPatch, inputs: dict[str, object], since: str, until: str
) -> None:
    market.holds(a_month(1))
    asked = overheard.queries(monkeypatch)
    assert market.export(inputs=inputs)["status"] == "SUCCEEDED"
    (body,) = asked
    given = overheard.parameters(body)
    assert "timestamp >= @since AND timestamp <= @until" in body["query"]
    assert given["since"].startswith(since)
    assert given["until"].startswith(until)
    assert (given["symbol"], given["timeframe"], given.get("exchange")) == ("BTCUSDT", "1M", inputs.get("exchange"))
    assert not [value for value in given.values() if value in body["query"]]
    assert int(body["maximumBytesBilled"]) > 0


@pytest.mark.acceptance("C7")
def test_bigquery_may_be_away_for_a_moment(market: Market) -> None:
    market.holds(a_month(1))
    fault = market.system.faults.add(service="bigquery", method="jobs.query", action=status(503), times=2)
    step = market.export()
    assert step["status"] == "SUCCEEDED"
    assert (fault.fired, market.queries) == (2, 3)
    first, second = market.system.clock.naps
    assert 0.5 <= first < 1.0 <= second < 2.0


@pytest.mark.acceptance("C8")
def test_a_refused_query_is_not_repeated(market: Market) -> None:
    market.holds(a_month(1))
    market.system.faults.add(service="bigquery", method="jobs.query", action=status(400))
    step = market.export(max_attempts=3)
    assert (step["status"], step.error, market.queries) == ("FAILED", ("BQ_QUERY_FAILED", False), 1)


@pytest.mark.acceptance("C8")
def test_a_missing_table_is_said_once(market: Market) -> None:
    step = market.export(max_attempts=3)
    assert (step["status"], step.error, market.queries) == ("FAILED", ("BQ_QUERY_FAILED", False), 1)
    assert "CANDLES_TABLE" in step["error"]["message"]


@pytest.mark.acceptance("C9")
def test_no_rows_are_an_error_of_the_inputs(market: Market) -> None:
    market.holds(a_month(1, symbol="ETHUSDT"))
    step = market.export(exchange="BINANCE")
    assert (step["status"], step.error, step.reason) == ("FAILED", INVALID, "no_rows")
    assert "BTCUSDT 1M on BINANCE" in step["error"]["message"]
    assert market.system.objects() == []


@pytest.mark.acceptance("C10")
def test_an_object_that_is_there_is_not_exported_again(market: Market) -> None:
    market.holds(a_month(1))
    first = market.export()
    market.system.faults.calls.clear()
    again = market.export()
    assert again["status"] == "SUCCEEDED"
    assert again["outputs"]["execution"]["reused"] is True
    assert "reused" not in first["outputs"]["execution"]
    assert again["outputs"]["candles"] == first["outputs"]["candles"]
    assert market.queries == 0


@pytest.mark.acceptance("C11")
def test_another_steps_object_under_our_name_is_never_taken(market: Market) -> None:
    market.holds(a_month(1))
    about = {"run": RUN_ID, "step": "somebody_else", "inputs-sha256": "0" * 64}
    market.system.put_object(OBJECT, b"theirs", metadata=about)
    step = market.export()
    assert (step["status"], step.error, step.reason) == ("FAILED", ("GCS_WRITE_FAILED", False), "object_taken")
    assert market.queries == 0
    assert market.system.object(OBJECT) == b"theirs"


@pytest.mark.acceptance("C12")
def test_fifteen_years_of_days_are_all_in_the_file(seeded: Market) -> None:
    step = seeded.export(timeframe="1d")
    assert step["status"] == "SUCCEEDED"
    candles = read_candles(seeded.system.object(f"runs/{RUN_ID}/ohlcv/1d.json") or b"").candles
    assert len(candles) == step["outputs"]["candles"]["count"] == 5474  # 5,475 days before noon begin at noon
    assert {later.time - earlier.time for earlier, later in pairwise(candles)} == {timedelta(days=1)}
    assert candles[-1].time == datetime(2025, 12, 23, tzinfo=UTC)


@pytest.mark.acceptance("C13")
def test_candles_that_cannot_be_stored_are_asked_for_once(market: Market) -> None:
    market.holds(a_month(1))
    fault = market.system.faults.add(service="storage", method="objects.insert", action=status(503))
    step = market.export()
    assert (step["status"], step.error) == ("FAILED", ("GCS_WRITE_FAILED", True))
    assert (market.queries, fault.fired) == (1, 5)


@pytest.mark.acceptance("C14")
@pytest.mark.parametrize("column", ["open", "high", "low", "close", "volume"])
def test_a_hole_in_the_data_costs_its_candle_and_is_counted(market: Market, column: str) -> None:
    market.holds(a_month(1), a_month(2, **{column: None}), a_month(3))
    step = market.export()
    assert step["status"] == "SUCCEEDED"
    file = market.file()
    assert [row["date"][5:7] for row in file["data"]] == ["01", "03"]
    assert (file["metadata"]["count"], file["metadata"]["skipped"]) == (2, 1)
    assert step["outputs"]["candles"]["skipped"] == 1


@pytest.mark.acceptance("C14")
def test_holes_alone_are_no_candles(market: Market) -> None:
    market.holds(a_month(1, close=None))
    step = market.export()
    assert (step.error, step.reason, step["error"]["details"]["skipped"]) == (INVALID, "no_rows", 1)


@pytest.mark.acceptance("C15")
def test_two_exchanges_make_one_series(market: Market) -> None:
    market.holds(
        a_month(1, close=1.0, exchange="BINANCE"),
        a_month(1, close=2.0, exchange="BYBIT"),
        a_month(2, close=3.0, exchange="BYBIT"),
        a_month(3, close=4.0, exchange="BYBIT"),
        a_month(3, close=5.0, exchange="BINANCE"),
    )
    market.export()
    assert [row["close"] for row in market.file()["data"]] == [1.0, 3.0, 5.0]


def test_an_exchange_that_is_named_is_the_only_one(market: Market) -> None:
    market.holds(a_month(1, exchange="BINANCE"), a_month(2, close=3.0, exchange="BYBIT"))
    market.export(exchange="BYBIT")
    file = market.file()
    assert [row["close"] for row in file["data"]] == [3.0]
    assert file["metadata"]["exchange"] == "BYBIT"


def test_only_closed_candles_are_exported_seen_from_the_runs_own_time(market: Market) -> None:
    """December is not over when the run begins, however late the step is taken."""
    market.holds(a_month(11), a_month(12))
    market.system.later(90 * 86_400)
    market.export()
    assert [row["date"] for row in market.file()["data"]] == ["2025-11-01T00:00:00Z"]


def test_a_range_into_the_future_ends_with_the_last_closed_candle(market: Market) -> None:
    market.holds(*(a_row((T0 - a_row(0)["timestamp"]).days + day) for day in (-1, 0)))  # type: ignore[operator]
    market.export(timeframe="1d", exportMode="range", rangeFrom="2025-12-01", rangeTo="2030-01-01")
    assert [row["date"] for row in market.file("1d")["data"]] == ["2025-12-23T00:00:00Z"]


def test_the_symbol_of_the_run_is_the_symbol_of_a_step_that_names_none(market: Market) -> None:
    market.holds(a_month(1))
    assert market.export(symbol=None)["status"] == "SUCCEEDED"
    assert market.file()["metadata"]["symbol"] == "BTCUSDT"


def test_the_timeframe_of_the_step_is_enough(market: Market) -> None:
    market.holds(a_row(0))
    assert market.export(timeframe="1d", inputs={"timeframe": None})["status"] == "SUCCEEDED"
