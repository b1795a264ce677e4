"""How the tests ask: once. The client's own retries would hide what the server says."""

from collections.abc import Iterable
from typing import Any

from google.cloud import bigquery
from google.cloud.bigquery.table import RowIterator

ONCE: Any = None  # as `retry`; the library's own types do not know that it may be None


def ask(
    client: bigquery.Client, sql: str, *parameters: Any, page_size: int | None = None, **config: Any
) -> RowIterator:
    """The rows of a query that is sent by `jobs.query`."""
    wish = bigquery.QueryJobConfig(query_parameters=list(parameters), **config)
    return client.query_and_wait(sql, job_config=wish, retry=ONCE, job_retry=ONCE, page_size=page_size)


def values(rows: Iterable[bigquery.Row]) -> list[tuple[Any, ...]]:
    """Rows as plain tuples, since a Row equals nothing but a Row."""
    return [row.values() for row in rows]  # type: ignore[no-untyped-call]


def answer(client: bigquery.Client, sql: str, *parameters: Any, **config: Any) -> list[tuple[Any, ...]]:
    return values(ask(client, sql, *parameters, **config))


def value(client: bigquery.Client, sql: str, *parameters: Any) -> Any:
    """The only value of the only row."""
    ((only,),) = answer(client, sql, *parameters)
    return only


def start(client: bigquery.Client, sql: str, **config: Any) -> bigquery.QueryJob:
    """The job of a query that is sent by `jobs.insert`."""
    return client.query(sql, job_config=bigquery.QueryJobConfig(**config), retry=ONCE, job_retry=ONCE)
