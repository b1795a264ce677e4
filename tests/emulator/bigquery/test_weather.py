"""Every fault, provoked through the unmodified client, gives what production code has to expect."""

import time
from collections.abc import Callable
from typing import cast

import pytest
import requests
from google.api_core import exceptions
from google.api_core.retry import Retry
from google.auth.credentials import Credentials
from google.cloud import bigquery

from emulator.bigquery import BigQueryServer
from emulator.faults import Fault, Handle, delay, drop, drop_after, hang, refuse, status
from tests.emulator.bigquery.asking import ONCE, ask, start, values

Plan = Callable[[Fault], Handle]
EXCEPTIONS = {
    400: exceptions.BadRequest,
    403: exceptions.Forbidden,
    429: exceptions.TooManyRequests,
    500: exceptions.InternalServerError,
    502: exceptions.BadGateway,
    503: exceptions.ServiceUnavailable,
    504: exceptions.GatewayTimeout,
}


@pytest.fixture
def plan(server: BigQueryServer) -> Plan:
    return lambda action: server.faults.add(service="bigquery", method="jobs.query", action=action, times=1)


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (400, "no", "invalid"),
        (403, "Access Denied: Project demo", "accessDenied"),
        (403, "Quota exceeded: Your project exceeded quota", "quotaExceeded"),
        (403, "Exceeded rate limits: too many queries", "rateLimitExceeded"),
        (429, "slower", "rateLimitExceeded"),
        (429, "Quota exceeded: slower", "quotaExceeded"),
        (500, "oh", "internalError"),
        (502, "oh", "badGateway"),
        (503, "later", "backendError"),
        (504, "too slow", "backendError"),
    ],
)
def test_an_error_has_the_reason_that_the_client_decides_by(
    client: bigquery.Client, plan: Plan, code: int, message: str, reason: str
) -> None:
    planned = plan(status(code, message))
    with pytest.raises(exceptions.GoogleAPICallError) as caught:
        ask(client, "SELECT 1")
    assert type(caught.value) is EXCEPTIONS[code]
    assert caught.value.errors == [{"message": message, "domain": "global", "reason": reason}]
    assert planned.fired == 1
    assert values(ask(client, "SELECT 1")) == [(1,)]


class Stale(Credentials):
    """A token that no renewal makes any better."""

    def refresh(self, request: object) -> None:
        self.token = "stale"


def test_who_is_not_known_is_asked_for_a_better_token_and_then_refused(server: BigQueryServer) -> None:
    planned = server.faults.add(service="bigquery", action=status(401, "Request had invalid credentials."))
    options = {"api_endpoint": server.url}
    stranger = bigquery.Client("demo", Stale(), client_options=options)  # type: ignore[no-untyped-call]
    with stranger, pytest.raises(exceptions.Unauthorized) as caught:
        ask(stranger, "SELECT 1")
    assert caught.value.errors[0]["reason"] == "authError"
    assert planned.fired == 3  # the library renews the token twice before it gives up


def test_advice_when_to_come_back_is_in_the_header(client: bigquery.Client, plan: Plan) -> None:
    plan(status(429, retry_after=1.5))
    with pytest.raises(exceptions.TooManyRequests) as caught:
        ask(client, "SELECT 1")
    assert caught.value.response.headers["Retry-After"] == "2"


@pytest.mark.parametrize(
    "action", [drop(), drop_after(), refuse(), hang(0.05)], ids=["drop", "after", "refuse", "hang"]
)
def test_a_broken_connection_is_a_connection_error(client: bigquery.Client, plan: Plan, action: Fault) -> None:
    planned = plan(action)
    with pytest.raises(requests.exceptions.ConnectionError):
        ask(client, "SELECT 1")
    assert planned.fired == 1
    assert values(ask(client, "SELECT 1")) == [(1,)]


def test_silence_is_a_timeout(client: bigquery.Client, plan: Plan) -> None:
    plan(hang(30))
    with pytest.raises(requests.exceptions.Timeout):
        client.query_and_wait("SELECT 1", retry=ONCE, job_retry=ONCE, api_timeout=0.1)


def test_a_slow_answer_is_an_answer(client: bigquery.Client, plan: Plan) -> None:
    plan(delay(0.1))
    began = time.monotonic()
    assert values(ask(client, "SELECT 1")) == [(1,)]
    assert time.monotonic() - began >= 0.1


def test_two_bad_moments_and_a_retry(client: bigquery.Client, server: BigQueryServer) -> None:
    planned = server.faults.add(service="bigquery", method="jobs.query", action=status(503), times=2)
    quick = Retry(
        predicate=lambda error: cast("exceptions.GoogleAPICallError", error).errors[0]["reason"] == "backendError",
        initial=0.01,
        timeout=10,
    )
    assert values(client.query_and_wait("SELECT 1", retry=quick, job_retry=ONCE)) == [(1,)]
    assert (planned.fired, server.faults.calls.count(method="jobs.query")) == (2, 3)


@pytest.mark.parametrize(
    ("method", "resource"),
    [
        ("jobs.insert", "demo"),
        ("jobs.get", "demo/one"),
        ("jobs.getQueryResults", "demo/one"),
        ("tables.get", "market.candles"),
        ("tabledata.list", "market.candles"),
        ("datasets.get", "market"),
    ],
)
def test_each_call_has_its_name(client: bigquery.Client, server: BigQueryServer, method: str, resource: str) -> None:
    client.query("SELECT 1", job_id="one", retry=ONCE, job_retry=ONCE)
    planned = server.faults.add(service="bigquery", method=method, resource=resource, action=status(503), times=1)
    calls: dict[str, Callable[[], object]] = {
        "jobs.insert": lambda: start(client, "SELECT 1"),
        "jobs.get": lambda: client.get_job("one", retry=ONCE),
        "jobs.getQueryResults": lambda: client._get_query_results("one", ONCE),
        "tables.get": lambda: client.get_table("market.candles", retry=ONCE),
        "tabledata.list": lambda: list(client.list_rows("market.candles", max_results=1, retry=ONCE)),
        "datasets.get": lambda: client.get_dataset("market", retry=ONCE),
    }
    with pytest.raises(exceptions.ServiceUnavailable):
        calls[method]()
    assert planned.fired == 1


def test_every_call_is_in_the_history(client: bigquery.Client, server: BigQueryServer, plan: Plan) -> None:
    before = len(server.faults.history.of("call"))
    planned = plan(status(503))
    with pytest.raises(exceptions.ServiceUnavailable):
        ask(client, "SELECT 1")
    (record,) = server.faults.history.of("call")[before:]
    assert (record.service, record.method, record.detail["fault"]) == ("bigquery", "jobs.query", planned.id)


def test_the_faults_have_a_face_on_the_same_port(client: bigquery.Client, server: BigQueryServer) -> None:
    wish = {"service": "bigquery", "method": "jobs.query", "times": 1, "action": {"status": 503}}
    requests.post(f"{server.url}/__faults", json=wish).close()
    with pytest.raises(exceptions.ServiceUnavailable):
        ask(client, "SELECT 1")
