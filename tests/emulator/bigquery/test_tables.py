"""Tables and datasets: described, made, and filled."""

from datetime import UTC, datetime
from typing import Any

import pytest
import requests
from google.api_core.exceptions import BadRequest, Conflict, NotFound
from google.cloud import bigquery
from google.cloud.bigquery import SchemaField

from emulator.bigquery import BigQueryServer
from emulator.faults import drop_after
from tests.emulator.bigquery.asking import ONCE, answer, value

SCHEMA = [
    SchemaField("at", "TIMESTAMP", mode="REQUIRED"),
    SchemaField("name", "STRING"),
    SchemaField("scores", "FLOAT64", mode="REPEATED"),
]


@pytest.fixture
def table(client: bigquery.Client) -> bigquery.Table:
    client.create_dataset("made", retry=ONCE)
    wish = bigquery.Table("demo.made.scores", schema=SCHEMA)
    wish.time_partitioning = bigquery.TimePartitioning(field="at")
    return client.create_table(wish, retry=ONCE)


def test_a_table_is_described(client: bigquery.Client) -> None:
    table = client.get_table("market.candles", retry=ONCE)
    assert [(field.name, field.field_type) for field in table.schema] == [
        ("timestamp", "TIMESTAMP"),
        ("exchange", "STRING"),
        ("symbol", "STRING"),
        ("timeframe", "STRING"),
        ("open", "FLOAT"),
        ("high", "FLOAT"),
        ("low", "FLOAT"),
        ("close", "FLOAT"),
        ("volume", "FLOAT"),
        ("ingested_at", "TIMESTAMP"),
    ]
    assert table.num_rows == value(client, "SELECT COUNT(*) FROM market.candles")
    assert table.time_partitioning.field == "timestamp"
    assert table.num_bytes > table.num_rows * 56


def test_what_is_missing_is_not_found(client: bigquery.Client) -> None:
    with pytest.raises(NotFound, match=r"Not found: Table demo:market\.nope"):
        client.get_table("market.nope", retry=ONCE)
    with pytest.raises(NotFound, match="Not found: Dataset demo:nope"):
        client.get_dataset("nope", retry=ONCE)
    assert client.get_dataset("market", retry=ONCE).dataset_id == "market"


def test_a_table_is_made_once(client: bigquery.Client, table: bigquery.Table) -> None:
    assert client.get_table("made.scores", retry=ONCE).schema == table.schema
    with pytest.raises(Conflict, match=r"Already Exists: Table demo:made\.scores"):
        client.create_table(bigquery.Table("demo.made.scores", schema=SCHEMA), retry=ONCE)
    with pytest.raises(Conflict, match="Already Exists: Dataset demo:market"):
        client.create_dataset("market", retry=ONCE)


def insert(client: bigquery.Client, *rows: dict[str, Any], ids: list[str] | None = None) -> Any:
    names = bigquery.AutoRowIDs.GENERATE_UUID if ids is None else ids
    return client.insert_rows_json("demo.made.scores", rows, row_ids=names, retry=ONCE)


def test_rows_are_inserted(client: bigquery.Client, table: bigquery.Table) -> None:
    assert (
        insert(client, {"at": "2024-01-01T00:00:00Z", "name": "it's", "scores": [1, 2.5]}, {"at": "2024-01-02"}) == []
    )
    assert answer(client, "SELECT * FROM made.scores ORDER BY at") == [
        (datetime(2024, 1, 1, tzinfo=UTC), "it's", [1.0, 2.5]),
        (datetime(2024, 1, 2, tzinfo=UTC), None, []),
    ]


def test_an_unknown_column_stops_them_all(client: bigquery.Client, table: bigquery.Table) -> None:
    wrong, stopped = insert(client, {"at": "2024-01-01", "nmae": "x"}, {"at": "2024-01-02"})
    assert (wrong["index"], wrong["errors"][0]["message"]) == (0, "no such field: nmae.")
    assert (stopped["index"], stopped["errors"][0]["reason"]) == (1, "stopped")
    assert value(client, "SELECT COUNT(*) FROM made.scores") == 0


def test_a_row_that_does_not_fit_stops_them_all(client: bigquery.Client, table: bigquery.Table) -> None:
    for row in ({"at": "yesterday"}, {"name": "no time"}):
        with pytest.raises(BadRequest):
            insert(client, {"at": "2024-01-02"}, row)
    assert value(client, "SELECT COUNT(*) FROM made.scores") == 0


def test_a_row_that_is_sent_again_is_known(
    client: bigquery.Client, server: BigQueryServer, table: bigquery.Table
) -> None:
    lost = server.faults.add(service="bigquery", method="tabledata.insertAll", action=drop_after(), times=1)
    with pytest.raises(requests.exceptions.ConnectionError):
        insert(client, {"at": "2024-01-01"}, ids=["a"])
    assert insert(client, {"at": "2024-01-01"}, {"at": "2024-01-02"}, ids=["a", "b"]) == []
    assert (lost.fired, value(client, "SELECT COUNT(*) FROM made.scores")) == (1, 2)


def test_a_test_may_load_rows_of_its_own(client: bigquery.Client, server: BigQueryServer) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    server.load("market.candles", [{"timestamp": at, "symbol": "MINE", "timeframe": "1d", "close": 1.5}])
    assert answer(client, "SELECT timestamp, close, open FROM market.candles WHERE symbol = 'MINE'") == [
        (at, 1.5, None)
    ]


def test_a_reset_server_is_as_though_just_started(client: bigquery.Client, server: BigQueryServer) -> None:
    before = value(client, "SELECT COUNT(*) FROM market.candles")
    server.load("market.candles", [{"symbol": "MINE"}])
    server.create_table("mine.own", [{"name": "n", "type": "INT64"}])
    client.query("SELECT 1", job_id="old", retry=ONCE, job_retry=ONCE)
    server.reset()
    assert value(client, "SELECT COUNT(*) FROM market.candles") == before
    with pytest.raises(NotFound):
        client.get_dataset("mine", retry=ONCE)
    with pytest.raises(NotFound):
        client.get_job("old", retry=ONCE)
