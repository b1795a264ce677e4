"""BigQuery behind `CandleSource`: one parameterised query, read page by page.

The SDK waits at least two minutes for a page, whatever it is told. Nobody has that long who must record a result
before the platform ends the invocation, so each query has a session of its own that keeps to its deadline.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import nan

import google.auth
import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import bigquery

from flowcore.adapters.punctual import punctual
from flowcore.contracts.candles import Candle, CandleQuery
from flowcore.domain.errors import AuthenticationError, Code, NetworkError, StepFailed

PAGE = 10_000  # rows: about 2 MB on the wire
CALL = 30.0  # seconds for one exchange; a query that takes longer is asked for again and again

# A row of several for one moment is chosen where they lie: what is left out is never sent.
_SQL = """\
SELECT timestamp, open, high, low, close, volume
FROM `{table}`
WHERE timestamp >= @since AND timestamp <= @until AND symbol = @symbol AND timeframe = @timeframe{and_exchange}
QUALIFY ROW_NUMBER() OVER (
  PARTITION BY timestamp
  ORDER BY
    open IS NULL OR high IS NULL OR low IS NULL OR close IS NULL OR volume IS NULL,
    exchange, ingested_at DESC, open, high, low, close, volume
) = 1
ORDER BY timestamp
"""
_SILENCE = (
    api.ServerError,
    api.TooManyRequests,
    api.RetryError,
    requests.RequestException,
    auth.TransportError,
    concurrent.futures.TimeoutError,
    ConnectionError,
)
_LIMITED = "rateLimitExceeded"
_QUOTA = "quotaExceeded"
_TOO_MANY_BYTES = "bytesBilledLimitExceeded"


class BigQueryCandles:
    """`table` becomes part of the SQL, so it must come from the configuration, which checks it.

    A query gets no more than `longest` seconds, however many there are: one that hangs must leave some for another.
    """

    def __init__(
        self, credentials: Credentials, project: str | None, table: str, maximum_bytes: int, longest: float
    ) -> None:
        self._credentials = credentials
        self._project = project
        self._table = table
        self._maximum_bytes = maximum_bytes
        self._longest = longest

    @classmethod
    def connected(cls, table: str, maximum_bytes: int, longest: float, *, emulated: bool) -> BigQueryCandles:
        """With the account of the process; an emulator knows none, and the SDK would look for one all the same."""
        if emulated:
            return cls(AnonymousCredentials(), None, table, maximum_bytes, longest)  # type: ignore[no-untyped-call]
        with _translated(table):
            credentials, project = google.auth.default(scopes=bigquery.Client.SCOPE)
        return cls(credentials, project, table, maximum_bytes, longest)

    def candles(self, query: CandleQuery, timeout: float) -> Iterator[Candle]:
        timeout = min(timeout, self._longest)
        session: requests.Session = AuthorizedSession(self._credentials)  # type: ignore[no-untyped-call]
        with _translated(self._table), punctual(session, timeout, silence=CALL):
            client = bigquery.Client(project=self._project, credentials=self._credentials, _http=session)
            rows = client.query_and_wait(
                _SQL.format(table=self._table, and_exchange=" AND exchange = @exchange" if query.exchange else ""),
                job_config=bigquery.QueryJobConfig(
                    query_parameters=_parameters(query), maximum_bytes_billed=self._maximum_bytes
                ),
                api_timeout=min(timeout, CALL),
                wait_timeout=timeout,
                retry=None,  # type: ignore[arg-type] # documented: it disables them
                job_retry=None,  # type: ignore[arg-type]
                page_size=PAGE,
            )
            for moment, *figures in rows:
                yield Candle(moment, *(nan if figure is None else float(figure) for figure in figures))


def _parameters(query: CandleQuery) -> list[bigquery.ScalarQueryParameter]:
    given = [
        bigquery.ScalarQueryParameter("since", "TIMESTAMP", query.since),
        bigquery.ScalarQueryParameter("until", "TIMESTAMP", query.until),
        bigquery.ScalarQueryParameter("symbol", "STRING", query.symbol),
        bigquery.ScalarQueryParameter("timeframe", "STRING", query.timeframe),
    ]
    if query.exchange:
        given.append(bigquery.ScalarQueryParameter("exchange", "STRING", query.exchange))
    return given


@contextmanager
def _translated(table: str) -> Iterator[None]:
    try:
        yield
    except (api.GoogleAPICallError, *_SILENCE, auth.GoogleAuthError) as error:
        raise _ours(error, table) from error
    except (ValueError, TypeError, AttributeError, KeyError) as garbled:
        # A gateway's page instead of JSON, or half of it: the library trips over it in whichever way.
        raise NetworkError(Code.BQ_QUERY_FAILED, f"{table}: BigQuery's answer cannot be read") from garbled


def _ours(error: Exception, table: str) -> StepFailed:
    """The reason is more exact than the status: 403 is also a quota, and 500 is also a limit of our own."""
    reason, status = _reason(error), _status(error)
    details = {"status": status, **_wish(error)}
    if reason == _TOO_MANY_BYTES:
        return StepFailed(
            Code.BQ_QUERY_FAILED,
            f"{table}: the query would read more than BIGQUERY_MAX_BYTES allows; export a shorter range",
            retryable=False,
            details={**details, "reason": "too_many_bytes"},
        )
    if reason == _QUOTA:  # it lasts longer than an invocation: the next attempt is the orchestrator's
        return StepFailed(Code.RATE_LIMITED, f"{table}: a quota of BigQuery is used up ({status})", details=details)
    if reason == _LIMITED or isinstance(error, api.TooManyRequests):
        return NetworkError(Code.RATE_LIMITED, f"{table}: BigQuery asks for patience ({status})", details=details)
    if isinstance(error, api.Unauthorized | api.Forbidden | auth.GoogleAuthError) and not isinstance(error, _SILENCE):
        return AuthenticationError(
            Code.BQ_QUERY_FAILED,
            f"{table}: BigQuery refused ({status}); may the function's account run queries and read the table?",
            details=details,
        )
    if isinstance(error, api.NotFound):
        return StepFailed(
            Code.BQ_QUERY_FAILED,
            f"{table}: there is no such table ({status}); is CANDLES_TABLE right?",
            retryable=False,
            details=details,
        )
    if isinstance(error, _SILENCE) and not isinstance(error, api.MethodNotImplemented):
        return NetworkError(Code.BQ_QUERY_FAILED, f"{table}: BigQuery did not answer ({status})", details=details)
    return StepFailed(
        Code.BQ_QUERY_FAILED,
        f"{table}: BigQuery refused the query ({status}); does the table have the columns of the candles?",
        retryable=False,
        details=details,
    )


def _reason(error: Exception) -> str:
    told = getattr(error, "errors", None)
    first = told[0] if isinstance(told, list | tuple) and told else {}
    return str(first.get("reason", "")) if isinstance(first, Mapping) else ""


def _status(error: Exception) -> str:
    code = getattr(error, "code", None)
    return str(int(code)) if isinstance(code, int) else type(error).__name__


def _wish(error: Exception) -> dict[str, object]:
    response = getattr(error, "response", None)
    asked = response.headers.get("Retry-After", "") if isinstance(response, requests.Response) else ""
    return {"retryAfterSeconds": int(asked)} if asked.isdigit() else {}
