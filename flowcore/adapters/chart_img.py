"""Chart-IMG behind `ChartService`: one POST a picture, answered with a PNG or with a reason.

Keys stay in here. Whoever draws names an account; so no key can slip into a log, a manifest or a message, and what the
service says in words is looked at, never passed on: it may quote the request's headers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import requests
import urllib3

from flowcore.adapters.punctual import punctual
from flowcore.contracts.charts import Chart, QuotaUsedUp
from flowcore.domain.errors import AuthenticationError, Code, NetworkError, StepFailed

PATH = "/v2/tradingview/advanced-chart"
LONGEST_CALL = 30.0
LARGEST_ANSWER = 8 * 2**20
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# A candle's length as the service spells it, where it differs from ours.
INTERVALS: Mapping[str, str] = MappingProxyType({"1": "1m", "5": "5m", "15": "15m", "1d": "1D", "1w": "1W"})

_SILENCE = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    TimeoutError,
)


class ChartImg:
    """A connection for each call: one that was kept may be dead by now, and to find out would cost a chart."""

    def __init__(self, base_url: str, keys: Mapping[str, str]) -> None:
        self._url = base_url.rstrip("/") + PATH
        self._keys = keys

    def draw(self, account: str, chart: Chart, timeout: float) -> bytes:
        session = requests.Session()
        session.trust_env = False  # no credentials of strangers from a .netrc
        seconds = min(timeout, LONGEST_CALL)
        with _translated(chart), punctual(session, seconds, silence=seconds):
            response = session.post(
                self._url,
                json=order_for(chart),
                headers={"x-api-key": self._keys[account]},
                allow_redirects=False,
                stream=True,
            )
            with response:
                body = _begun(response.raw)
        if response.status_code == 200 and body.startswith(PNG_SIGNATURE) and len(body) <= LARGEST_ANSWER:
            return body
        raise _refusal(chart, response.status_code, response.headers, body)


def order_for(chart: Chart) -> dict[str, object]:
    """The template's request, with what belongs to the run and not to the template put over it."""
    return {
        **chart.template.request,
        "symbol": chart.market_symbol,
        "interval": INTERVALS.get(chart.timeframe, chart.timeframe),
        "timezone": chart.timezone,
    }


def _begun(raw: urllib3.BaseHTTPResponse) -> bytes:
    """The body, or of one that is too large the beginning: one without end must not fill the memory."""
    body = bytearray()
    while len(body) <= LARGEST_ANSWER and (piece := raw.read1(2**16, decode_content=True)):
        body += piece
    return bytes(body)


@contextmanager
def _translated(chart: Chart) -> Iterator[None]:
    try:
        yield
    except _SILENCE as silence:
        raise NetworkError(
            Code.CHART_API_FAILED, f"{_what(chart)}: Chart-IMG did not answer ({type(silence).__name__})"
        ) from silence


def _refusal(chart: Chart, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    what, told = _what(chart), {"status": status}
    if status == 429 or "limit exceeded" in _words(body):
        return QuotaUsedUp(_seconds(headers.get("Retry-After")))
    if status >= 500 or status == 408:
        wait = _seconds(headers.get("Retry-After"))
        return NetworkError(
            Code.CHART_API_FAILED,
            f"{what}: Chart-IMG answered {status}",
            details=told if wait is None else {**told, "retryAfterSeconds": wait},
        )
    if status in (401, 403):
        return AuthenticationError(
            Code.CHART_API_FAILED,
            f"{what}: Chart-IMG answered {status}; check the account's key and what its plan allows",
            details=told,
        )
    if status == 200 and len(body) > LARGEST_ANSWER:
        return StepFailed(
            Code.CHART_API_FAILED,
            f"{what}: Chart-IMG answered with more than {LARGEST_ANSWER} bytes; ask for a smaller picture",
            retryable=False,
            details={**told, "reason": "answer_too_large"},
        )
    if status == 200:
        return StepFailed(
            Code.CHART_API_FAILED,
            f"{what}: Chart-IMG answered 200 with something that is no PNG",
            retryable=False,
            details={**told, "reason": "not_a_png"},
        )
    return StepFailed(
        Code.CHART_API_FAILED,
        f"{what}: Chart-IMG answered {status}; correct the template's request",
        retryable=False,
        details=told,
    )


def _words(body: bytes) -> str:
    """What an error says, wherever it says it: `message`, `error`, or a list of `errors`."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    return " ".join(str(told.get(name, "")) for name in ("message", "error", "errors")).lower()


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is not used by this service."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 < seconds < 10**6 else None


def _what(chart: Chart) -> str:
    return f"chart {chart.template.template_id} of {chart.market_symbol}"
