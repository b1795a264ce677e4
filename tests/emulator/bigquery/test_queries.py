"""What is asked is what is answered: parameters, types, names, and refusals that say where."""

import math
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
import requests
from google.api_core.exceptions import BadRequest, MethodNotImplemented, NotFound
from google.cloud import bigquery
from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter

from emulator.bigquery import BigQueryServer
from tests.emulator.bigquery.asking import answer, ask, value
from tests.emulator.bigquery.conftest import NOW

# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("STRING", "BTCUSDT"),
        ("STRING", ""),
        ("STRING", None),
        ("INT64", -(2**63)),
        ("FLOAT64", 0.1),
        ("BOOL", True),
        ("BOOL", False),
        ("NUMERIC", Decimal("12.5")),
        ("BYTES", b"\x00\xff'"),
        ("DATE", date(2024, 2, 29)),
        ("TIME", time(23, 59, 59, 5)),
        ("TIME", time(10, 0)),
        ("DATETIME", datetime(2024, 2, 29, 1, 2, 3, 400)),  # noqa: DTZ001 - which is what a DATETIME is
        ("TIMESTAMP", datetime(2024, 2, 29, 1, 2, 3, 400, tzinfo=UTC)),
        ("TIMESTAMP", datetime(1969, 12, 31, 23, 59, tzinfo=UTC)),
    ],
)
def test_a_parameter_comes_back_as_it_went(client: bigquery.Client, kind: str, given: Any) -> None:
    found = value(client, "SELECT @given", ScalarQueryParameter("given", kind, given))
    assert (found, type(found)) == (given, type(given))


@pytest.mark.parametrize(
    "nasty",
    ["it's", "' OR 1=1 --", '"', "`", "\\", "$p0", "@other", "?", "x'; DROP TABLE market.candles; --", "é\n☃\x01"],
)
def test_a_value_is_never_a_part_of_the_query(client: bigquery.Client, nasty: str) -> None:
    named, listed = ScalarQueryParameter("v", "STRING", nasty), ArrayQueryParameter("vs", "STRING", [nasty, "b"])
    assert answer(client, "SELECT @v AS v, @v IN UNNEST(@vs) AS found", named, listed) == [(nasty, True)]
    assert value(client, "SELECT COUNT(*) FROM market.candles WHERE symbol = @v", named) == 0
    assert value(client, "SELECT COUNT(*) > 0 FROM market.candles") is True


def test_parameters_without_names_go_by_their_order(client: bigquery.Client) -> None:
    first, second, third = (ScalarQueryParameter(None, "INT64", number) for number in (1, 2, 3))
    sql = "WITH one AS (SELECT ? AS a) SELECT '?' AS q, ? AS b, a FROM one WHERE a < ? -- ?"
    assert answer(client, sql, first, second, third) == [("?", 2, 1)]


def test_a_list_chooses_rows(client: bigquery.Client) -> None:
    frames = ArrayQueryParameter("frames", "STRING", ["1w", "1M"])
    sql = "SELECT DISTINCT timeframe FROM market.candles WHERE timeframe IN UNNEST(@frames) ORDER BY timeframe"
    assert answer(client, sql, frames) == [("1M",), ("1w",)]
    assert answer(client, sql, ArrayQueryParameter("frames", "STRING", [])) == []


def test_limits_and_intervals_take_parameters(client: bigquery.Client) -> None:
    two = ScalarQueryParameter("two", "INT64", 2)
    sql = "SELECT TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL @two DAY) AS t FROM UNNEST([1, 2, 3]) LIMIT @two"
    then = datetime(2026, 6, 15, 12, 30, tzinfo=UTC)
    assert answer(client, sql, two) == [(then,), (then,)]


def test_a_missing_parameter_is_named_with_its_place(client: bigquery.Client) -> None:
    with pytest.raises(BadRequest, match=r"Query parameter 'gone' not found at \[2:6\]"):
        ask(client, "SELECT\n  1, @gone", ScalarQueryParameter("other", "INT64", 1))


def test_a_value_that_is_not_of_its_type_is_refused(client: bigquery.Client) -> None:
    with pytest.raises(BadRequest) as caught:
        ask(client, "SELECT @n", ScalarQueryParameter("n", "INT64", "many"))
    assert caught.value.errors[0]["reason"] == "invalidQuery"


@pytest.mark.parametrize(
    "parameter", [{}, {"name": "n", "parameterType": {"type": "INT64"}}, {"parameterType": 3, "parameterValue": {}}, 7]
)
def test_a_parameter_of_no_shape_is_refused(server: BigQueryServer, parameter: object) -> None:
    wish = {"query": "SELECT 1", "useLegacySql": False, "queryParameters": [parameter]}
    with requests.post(f"{server.url}/bigquery/v2/projects/p/queries", json=wish, timeout=10) as answered:
        assert answered.status_code == 400
        assert "queryParameters" in answered.json()["error"]["message"]


# --- values -----------------------------------------------------------------------------------------------


def test_lists_and_records_have_their_own_fields(client: bigquery.Client) -> None:
    sql = """
        SELECT [1, 2] AS numbers, STRUCT('a' AS name, TIMESTAMP '2020-01-01 00:00:00+00' AS at) AS pair,
               [STRUCT(1 AS n, ['x'] AS l)] AS deep, CAST(NULL AS STRING) AS nothing
    """
    (row,) = ask(client, sql)
    assert row["numbers"] == [1, 2]
    assert row["pair"] == {"name": "a", "at": datetime(2020, 1, 1, tzinfo=UTC)}
    assert row["deep"] == [{"n": 1, "l": ["x"]}]
    assert row["nothing"] is None


def test_numbers_that_are_none_travel_too(client: bigquery.Client) -> None:
    sql = "SELECT CAST('inf' AS FLOAT64) AS a, CAST('-inf' AS FLOAT64) AS b, CAST('nan' AS FLOAT64) AS c, 1.5 AS d"
    ((up, down, neither, plain),) = answer(client, sql)
    assert (up, down, plain) == (float("inf"), float("-inf"), 1.5)
    assert math.isnan(neither)


def test_timestamps_are_seconds_unless_microseconds_are_asked_for(client: bigquery.Client) -> None:
    def cell(**options: Any) -> str:
        body = {"query": "SELECT TIMESTAMP '2020-01-01 00:00:00.5+00'", "useLegacySql": False, **options}
        connection: Any = client._connection
        reply = connection.api_request("POST", "/projects/demo/queries", data=body)
        return str(reply["rows"][0]["f"][0]["v"])

    assert float(cell()) == 1577836800.5
    assert cell(formatOptions={"useInt64Timestamp": True}) == "1577836800500000"


def test_columns_without_names_are_numbered(client: bigquery.Client) -> None:
    rows = ask(client, "SELECT 1, close, MAX(open), CAST(close AS STRING) FROM market.candles GROUP BY close LIMIT 0")
    assert [field.name for field in rows.schema] == ["f0_", "close", "f1_", "f2_"]
    assert [field.field_type for field in rows.schema] == ["INTEGER", "FLOAT", "FLOAT", "STRING"]


def test_the_clock_of_the_server_is_the_clock_of_its_queries(client: bigquery.Client) -> None:
    assert value(client, "SELECT CURRENT_TIMESTAMP()") == NOW


def test_functions_of_time_are_understood(client: bigquery.Client) -> None:
    sql = """
        SELECT FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%SZ', t), TIMESTAMP_TRUNC(t, MONTH), DATE(t), UNIX_SECONDS(t),
               TIMESTAMP_DIFF(t, TIMESTAMP('2024-03-01'), HOUR), EXTRACT(DAY FROM t)
        FROM (SELECT TIMESTAMP '2024-03-05 06:07:08+00' AS t)
    """
    month = datetime(2024, 3, 1, tzinfo=UTC)
    assert answer(client, sql) == [("2024-03-05T06:07:08Z", month, date(2024, 3, 5), 1709618828, 102, 5)]


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["market.candles", "`market.candles`", "`demo.market.candles`", "`demo`.market.candles", "demo.market.candles"],
)
def test_a_table_has_many_spellings(client: bigquery.Client, name: str) -> None:
    assert value(client, f"SELECT COUNT(*) > 0 FROM {name}") is True


def test_the_default_dataset_completes_a_name(client: bigquery.Client) -> None:
    sql = "SELECT COUNT(*) > 0 FROM candles"
    assert answer(client, sql, default_dataset="demo.market") == [(True,)]
    with pytest.raises(BadRequest, match='Table "candles" must be qualified with a dataset'):
        ask(client, sql)


def test_a_query_of_three_windows_is_answered(client: bigquery.Client) -> None:
    sql = """
        WITH own AS (SELECT * FROM market.candles WHERE symbol = 'IBM' AND timeframe = '1d')
        SELECT close FROM (
            (SELECT * FROM own WHERE timestamp < @at ORDER BY timestamp DESC LIMIT 2)
            UNION ALL SELECT * FROM own WHERE timestamp = @at
            UNION ALL (SELECT * FROM own WHERE timestamp > @at ORDER BY timestamp LIMIT 2)
        ) ORDER BY timestamp
    """
    at = ScalarQueryParameter("at", "TIMESTAMP", datetime(2013, 2, 27, tzinfo=UTC))
    assert answer(client, sql, at) == [(197.51,), (199.14,), (202.33,), (200.83,), (202.91,)]


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", 'Syntax error: Unexpected identifier "SELEC" at [1:1]'),
        ("SELECT 1\nFROM WHERE", "Syntax error: Unexpected keyword WHERE at [2:6]"),
        ("SELECT 1 +", "Syntax error: Unexpected end of statement at [1:11]"),
        ("", "Syntax error: Unexpected end of statement at [1:1]"),
        ("hello there", 'Syntax error: Unexpected identifier "hello" at [1:1]'),
        ("SELECT 'a", "Syntax error: Unclosed string literal at [1:8]"),
        ("SELECT\n  clse FROM market.candles", "Unrecognized name: clse at [2:3]"),
        ("SELECT 1, shout('a')", "Function not found: shout at [1:11]"),
        ("SELECT 1 / 0", "division by zero: 1 / 0"),
        (
            "SELECT 1 AS a, 2 AS a",
            "Duplicate column names in the result are not supported. Found duplicate(s): a",
        ),
    ],
)
def test_a_wrong_query_is_refused_with_the_place(client: bigquery.Client, sql: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        ask(client, sql)
    assert caught.value.message.endswith(f": {message}")
    (error,) = caught.value.errors
    assert (error["reason"], error["location"], error["message"]) == ("invalidQuery", "query", message)


def test_what_does_not_exist_is_not_found(client: bigquery.Client) -> None:
    for sql, missing in (
        ("SELECT 1 FROM market.nope", "Table demo:market.nope"),
        ("SELECT 1 FROM nope.candles", "Dataset demo:nope"),
    ):
        with pytest.raises(NotFound, match=f"Not found: {missing} was not found in location US") as caught:
            ask(client, sql)
        assert caught.value.errors[0]["reason"] == "notFound"


@pytest.mark.parametrize(
    "sql", ["DELETE FROM market.candles WHERE true", "SELECT 1; SELECT 2", "SELECT * FROM read_text('pyproject.toml')"]
)
def test_what_is_not_emulated_says_so(client: bigquery.Client, sql: str) -> None:
    with pytest.raises(MethodNotImplemented, match=r"The emulator does not do this: .*DIFFERENCES\.md"):
        ask(client, sql)


def test_one_query_is_one_call(client: bigquery.Client, server: BigQueryServer) -> None:
    ask(client, "SELECT 1")
    assert [tuple(call) for call, _ in server.faults.calls.items()] == [("bigquery", "jobs.query", "demo")]
    assert server.faults.calls.count("bigquery") == 1


def test_two_first_queries_at_once_find_the_whole_language() -> None:
    """A dialect that sqlglot loads when it is first wanted is seen half-made by the second who wants it."""
    names = "{f'sqlglot.dialects.{name}' for name in ('bigquery', 'duckdb')}"
    loaded = f"import sys, emulator.bigquery; print({names} <= sys.modules.keys())"
    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == "True\n"
