"""Jobs: what they cost, how they fail, and that none is run twice."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from google.api_core.exceptions import BadRequest, Conflict, InternalServerError, NotFound
from google.cloud import bigquery

from emulator.bigquery import BigQueryServer
from emulator.bigquery.warehouse import Warehouse
from emulator.faults import drop_after
from tests.emulator.bigquery.asking import ONCE, ask, start, values

TEN_MEGABYTES = 10_485_760
FIELDS = [
    {"name": "timestamp", "type": "TIMESTAMP"},
    {"name": "symbol", "type": "STRING"},
    {"name": "close", "type": "FLOAT64"},
]


@pytest.fixture
def days(server: BigQueryServer) -> str:
    """A table of ten days with a row each, 8 + (2 + 3) + 8 bytes wide."""
    server.create_table("tests.days", FIELDS, partitioned_by="timestamp")
    rows = [{"timestamp": f"2024-01-{day:02} 12:00:00", "symbol": "IBM", "close": day} for day in range(1, 11)]
    server.load("tests.days", rows)
    return "tests.days"


# --- costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "processed"),
    [
        ("*", 210),
        ("close", 80),
        ("symbol", 50),
        ("COUNT(*)", 0),
        ("close FROM tests.days WHERE symbol = 'IBM' LIMIT 1 --", 130),
        ("close FROM tests.days WHERE timestamp >= '2024-01-09' --", 32),
        ("close FROM tests.days WHERE timestamp BETWEEN '2024-01-02 23:00:00' AND '2024-01-03 01:00:00' --", 32),
        ("close FROM tests.days WHERE DATE(timestamp) = '2024-01-05' AND symbol = 'IBM' --", 21),
        ("close FROM tests.days WHERE '2024-01-02' > timestamp --", 32),
        ("close FROM tests.days WHERE timestamp >= '2024-01-09' OR symbol = 'x' --", 210),
        ("a.close FROM tests.days a, tests.days b --", 160),
    ],
)
def test_bytes_are_those_of_the_named_columns_in_the_asked_days(
    client: bigquery.Client, days: str, select: str, processed: int
) -> None:
    sql = f"SELECT {select} FROM {days}"
    assert ask(client, sql).total_bytes_processed == processed
    assert start(client, sql, dry_run=True).total_bytes_processed == processed


def test_a_dry_run_has_a_price_and_columns_but_no_rows(
    client: bigquery.Client, server: BigQueryServer, days: str
) -> None:
    rows = ask(client, f"SELECT close FROM {days}", dry_run=True)
    assert (rows.total_bytes_processed, [field.name for field in rows.schema], list(rows)) == (80, ["close"], [])
    job = start(client, f"SELECT close FROM {days}", dry_run=True)
    assert (job.state, job.total_bytes_processed, list(job.result())) == ("DONE", 80, [])
    with pytest.raises(NotFound):
        ask(client, "SELECT 1 FROM tests.nope", dry_run=True)


def test_a_limit_on_the_bill_is_kept(client: bigquery.Client, days: str) -> None:
    sql = f"SELECT close FROM {days}"
    message = f"Query exceeded limit for bytes billed: 80. {TEN_MEGABYTES} or higher required."
    with pytest.raises(BadRequest, match=message) as caught:
        ask(client, sql, maximum_bytes_billed=80)
    assert caught.value.errors[0]["reason"] == "bytesBilledLimitExceeded"
    assert ask(client, sql, maximum_bytes_billed=TEN_MEGABYTES).total_rows == 10
    with pytest.raises(InternalServerError, match="bytesBilledLimitExceeded"):  # the client knows no better class
        start(client, sql, maximum_bytes_billed=80).result(retry=ONCE)


def test_a_job_tells_what_it_cost(client: bigquery.Client, days: str) -> None:
    job = start(client, f"SELECT close FROM {days}", use_query_cache=False)
    assert values(job.result(retry=ONCE)) == [(float(day),) for day in range(1, 11)]
    assert (job.total_bytes_processed, job.total_bytes_billed, job.cache_hit) == (80, TEN_MEGABYTES, False)
    assert job.created is not None
    assert job.statement_type == "SELECT"


# --- failures ---------------------------------------------------------------------------------------------


def test_a_missing_table_fails_the_job(client: bigquery.Client) -> None:
    job = start(client, "SELECT 1 FROM market.nope")
    assert (job.state, job.error_result and job.error_result["reason"]) == ("DONE", "notFound")
    with pytest.raises(NotFound, match=r"Table demo:market\.nope was not found in location US"):
        job.result(retry=ONCE)


def test_a_syntax_error_makes_no_job(client: bigquery.Client, server: BigQueryServer) -> None:
    with pytest.raises(BadRequest, match=r"Syntax error: Unexpected end of statement at \[1:14\]"):
        start(client, "SELECT 1 FROM")
    assert server.faults.calls.count("bigquery") == 1


def test_a_value_that_cannot_be_computed_fails_the_job(client: bigquery.Client) -> None:
    job = start(client, "SELECT 1 / (COUNT(*) - COUNT(*)) FROM market.candles")
    assert job.error_result == {
        "reason": "invalidQuery",
        "location": "query",
        "message": "division by zero: 1 / (COUNT(*) - COUNT(*))",
    }


# --- never twice ------------------------------------------------------------------------------------------


def test_a_job_id_is_used_once(client: bigquery.Client) -> None:
    client.query("SELECT 1", job_id="mine", retry=ONCE, job_retry=ONCE)
    with pytest.raises(Conflict, match=r"Already Exists: Job demo:US\.mine"):
        client.query("SELECT 2", job_id="mine", retry=ONCE, job_retry=ONCE)
    found = client.get_job("mine", retry=ONCE)
    assert isinstance(found, bigquery.QueryJob)
    assert values(found.result(retry=ONCE)) == [(1,)]


def test_an_unknown_job_is_not_found(client: bigquery.Client) -> None:
    with pytest.raises(NotFound, match=r"Not found: Job demo:US\.gone"):
        client.get_job("gone", retry=ONCE)


def test_a_cancel_comes_too_late(client: bigquery.Client) -> None:
    job = start(client, "SELECT 1")
    assert job.cancel(retry=ONCE) is True
    assert values(job.result(retry=ONCE)) == [(1,)]


def test_a_query_whose_reply_was_lost_is_not_run_again(client: bigquery.Client, server: BigQueryServer) -> None:
    lost = server.faults.add(service="bigquery", method="jobs.query", action=drop_after(), times=1)
    rows = client.query_and_wait("SELECT 1 AS one")  # with the client's own retries
    assert (lost.fired, server.faults.calls.count(method="jobs.query")) == (1, 2)
    assert values(rows) == [(1,)]


def test_a_job_whose_reply_was_lost_is_found_again(client: bigquery.Client, server: BigQueryServer) -> None:
    lost = server.faults.add(service="bigquery", method="jobs.insert", action=drop_after(), times=1)
    rows = client.query("SELECT 1 AS one").result()
    assert (lost.fired, server.faults.calls.count(method="jobs.insert")) == (1, 2)
    assert values(rows) == [(1,)]


def test_legacy_sql_is_not_emulated(client: bigquery.Client) -> None:
    with pytest.raises(Exception, match="legacy SQL"):
        ask(client, "SELECT 1", use_legacy_sql=True)


# --- the end ----------------------------------------------------------------------------------------------


def test_a_server_can_be_ended_under_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work = threading.Event()

    def long(warehouse: Warehouse) -> None:
        at_work.set()
        warehouse.number("SELECT sum(a * b % 7) FROM range(10000) one(a), range(10000) other(b)")

    monkeypatch.setattr("emulator.bigquery.server._market", long)
    with ThreadPoolExecutor(1) as asking:
        with BigQueryServer() as server:
            url = f"{server.url}/bigquery/v2/projects/demo/datasets/market"
            asked = asking.submit(requests.get, url, timeout=60)
            assert at_work.wait(10)
        assert isinstance(asked.exception(), requests.ConnectionError), "whoever asked has been hung up on"
