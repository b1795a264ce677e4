"""Large results come in pages, in order, each row once, and none of it is ever in memory as a whole."""

import threading
from collections.abc import Iterable
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, NotFound
from google.cloud import bigquery

from emulator.bigquery import BigQueryServer
from emulator.faults import status
from tests.emulator.bigquery.asking import ONCE, ask, start, values

NUMBERS = "SELECT n FROM UNNEST(GENERATE_ARRAY(1, {last})) AS n ORDER BY n"


def numbers(rows: Iterable[bigquery.Row]) -> list[int]:
    return [row[0] for row in rows]


def test_a_page_has_the_size_that_was_asked_for(client: bigquery.Client, server: BigQueryServer) -> None:
    rows = ask(client, NUMBERS.format(last=25), page_size=10)
    assert [page.num_items for page in rows.pages] == [10, 10, 5]
    assert rows.total_rows == 25
    assert server.faults.calls.count(method="jobs.getQueryResults") == 2


def test_pages_follow_each_other_without_gap_or_overlap(client: bigquery.Client) -> None:
    assert numbers(ask(client, NUMBERS.format(last=25), page_size=7)) == list(range(1, 26))
    assert numbers(start(client, NUMBERS.format(last=25)).result(page_size=7, retry=ONCE)) == list(range(1, 26))


def test_a_result_may_be_cut_and_entered_in_the_middle(client: bigquery.Client) -> None:
    def some(**how: Any) -> list[int]:
        return numbers(start(client, NUMBERS.format(last=25)).result(retry=ONCE, **how))

    assert some(max_results=3) == [1, 2, 3]
    assert some(start_index=20) == [21, 22, 23, 24, 25]
    assert some(start_index=20, page_size=2) == [21, 22, 23, 24, 25]


def test_an_empty_result_has_columns_and_no_rows(client: bigquery.Client) -> None:
    for rows in (
        ask(client, "SELECT close FROM market.candles WHERE FALSE"),
        start(client, "SELECT close FROM market.candles WHERE FALSE").result(retry=ONCE),
    ):
        assert ([field.name for field in rows.schema], rows.total_rows, list(rows)) == (["close"], 0, [])


def test_a_hundred_thousand_rows_stream(client: bigquery.Client, server: BigQueryServer) -> None:
    sql = "SELECT n, n / 7 AS x, 'BTCUSDT' AS symbol FROM UNNEST(GENERATE_ARRAY(1, 100000)) AS n ORDER BY n"
    last = 0
    sizes: list[int] = []
    for page in ask(client, sql).pages:
        found = numbers(page)
        assert found == list(range(last + 1, last + 1 + len(found)))
        last, sizes = found[-1], [*sizes, len(found)]
    assert last == 100_000
    assert max(sizes) <= 50_000  # neither side holds them all
    assert server.faults.calls.count(method="jobs.getQueryResults") == len(sizes) - 1


def test_long_rows_make_short_pages(client: bigquery.Client) -> None:
    rows = ask(client, "SELECT REPEAT('x', 100000) AS x FROM UNNEST(GENERATE_ARRAY(1, 120))")
    sizes = [page.num_items for page in rows.pages]
    assert len(sizes) > 1
    assert sum(sizes) == 120


def test_a_page_may_be_asked_for_again(client: bigquery.Client, server: BigQueryServer) -> None:
    lost = server.faults.add(
        service="bigquery", method="jobs.getQueryResults", action=status(503, applied=True), times=1
    )
    wish = bigquery.QueryJobConfig()
    rows = client.query_and_wait(NUMBERS.format(last=25), job_config=wish, page_size=10)
    assert numbers(rows) == list(range(1, 26))
    assert lost.fired == 1


def test_a_token_that_was_never_given_is_refused(client: bigquery.Client) -> None:
    with pytest.raises(BadRequest, match="Invalid value for pageToken"):
        list(client.list_rows("market.candles", page_token="made up", retry=ONCE))


def test_the_oldest_results_are_let_go_when_there_are_too_many(client: bigquery.Client) -> None:
    old, new = (start(client, NUMBERS.format(last=1_600_000)) for _ in range(2))
    with pytest.raises(NotFound, match="it has expired, run the query again"):
        next(iter(old.result(page_size=1, retry=ONCE)))
    assert next(iter(new.result(page_size=1, retry=ONCE)))[0] == 1


def test_many_may_ask_at_once(client: bigquery.Client, server: BigQueryServer) -> None:
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(numbers(ask(client, NUMBERS.format(last=40), page_size=9))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [list(range(1, 41))] * 8


def test_rows_of_a_table_are_listed(client: bigquery.Client, server: BigQueryServer) -> None:
    fields = [{"name": "n", "type": "INT64"}, {"name": "name", "type": "STRING"}]
    server.create_table("tests.listed", fields)
    server.load("tests.listed", ({"n": n, "name": f"'{n}'"} for n in range(1, 6)))
    assert values(client.list_rows("tests.listed", page_size=2, retry=ONCE)) == [(n, f"'{n}'") for n in range(1, 6)]
    assert values(client.list_rows("tests.listed", start_index=3, retry=ONCE)) == [(4, "'4'"), (5, "'5'")]
    chosen = [bigquery.SchemaField("name", "STRING")]
    assert values(client.list_rows("tests.listed", selected_fields=chosen, max_results=1, retry=ONCE)) == [("'1'",)]
