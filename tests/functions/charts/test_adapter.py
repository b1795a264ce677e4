"""Chart-IMG through the adapter: each answer from the wire, and what it becomes."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulator.chart_img import ChartImgServer
from emulator.faults import Fault, drop, drop_after, hang, refuse, shape, status
from emulator.web import Reply, Server
from flowcore.adapters.chart_img import LARGEST_ANSWER, PNG_SIGNATURE, ChartImg, order_for
from flowcore.contracts.charts import Chart, ChartTemplate, QuotaUsedUp
from flowcore.domain.errors import AuthenticationError, Code, NetworkError, StepFailed
from tests.ports.trickle import TRICKLES, trickling

KEY = "a-key-that-nobody-may-see"
REQUEST = {"theme": "dark", "symbol": "NASDAQ:AAPL", "interval": "1m", "timezone": "Asia/Tokyo", "studies": []}
CHART = Chart(ChartTemplate("t1", "d", "BYBIT:{symbol}.P", REQUEST), "BTCUSDT", "1d", "Europe/Paris")


@pytest.fixture(scope="module")
def running() -> Iterator[ChartImgServer]:
    with ChartImgServer(keys=[KEY]) as server:
        yield server


@pytest.fixture
def server(running: ChartImgServer) -> ChartImgServer:
    running.faults.clear()
    running.faults.calls.clear()
    running.reset()
    return running


@pytest.fixture
def service(server: ChartImgServer) -> ChartImg:
    return ChartImg(server.url + "/", {"first": KEY, "stranger": "a-wrong-key"})


def refusal(service: ChartImg, account: str = "first", timeout: float = 5.0) -> StepFailed:
    with pytest.raises(StepFailed) as refused:
        service.draw(account, CHART, timeout)
    assert KEY not in repr(refused.value.error)
    return refused.value


@pytest.mark.acceptance("D11")
def test_what_belongs_to_the_run_is_put_over_the_template() -> None:
    assert order_for(CHART) == {
        "theme": "dark",
        "studies": [],
        "symbol": "BYBIT:BTCUSDT.P",
        "interval": "1D",
        "timezone": "Europe/Paris",
    }


@pytest.mark.parametrize(
    ("timeframe", "interval"),
    [("1M", "1M"), ("1w", "1W"), ("1d", "1D"), ("4h", "4h"), ("1h", "1h"), ("15", "15m"), ("5", "5m"), ("1", "1m")],
)
def test_every_timeframe_is_spelled_as_the_service_does(service: ChartImg, timeframe: str, interval: str) -> None:
    chart = Chart(CHART.template, "BTCUSDT", timeframe, "Etc/UTC")
    assert order_for(chart)["interval"] == interval
    assert service.draw("first", chart, 5.0).startswith(PNG_SIGNATURE)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (400, StepFailed, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, StepFailed, False),
        (422, StepFailed, False),
        (408, NetworkError, True),
        (500, NetworkError, True),
        (502, NetworkError, True),
        (503, NetworkError, True),
        (504, NetworkError, True),
    ],
)
def test_a_status_becomes_a_failure_with_our_code(
    server: ChartImgServer, service: ChartImg, code: int, kind: type[StepFailed], retryable: bool
) -> None:
    planned = server.faults.add(service="chart_img", action=status(code, f"key {KEY}"), times=1)
    failure = refusal(service)
    assert type(failure) is kind
    assert (failure.error.code, failure.error.retryable) == (Code.CHART_API_FAILED, retryable)
    assert failure.error.details == {"status": code}
    assert planned.fired == 1


def test_an_unknown_key_is_not_worth_another_try(service: ChartImg) -> None:
    failure = refusal(service, "stranger")
    assert (type(failure), failure.error.details) == (AuthenticationError, {"status": 403})


def test_advice_to_wait_is_passed_on(server: ChartImgServer, service: ChartImg) -> None:
    server.faults.add(service="chart_img", action=status(503, retry_after=7), times=1)
    assert refusal(service).error.retry_after == 7.0


@pytest.mark.parametrize(
    ("action", "wait"),
    [
        (status(429), None),
        (status(429, "Too Many Requests", retry_after=3), 3.0),
        (status(403, "Daily limit exceeded for this plan"), None),
    ],
    ids=["429", "with advice", "in words"],
)
def test_a_used_up_account_is_told_apart(
    server: ChartImgServer, service: ChartImg, action: Fault, wait: float | None
) -> None:
    server.faults.add(service="chart_img", action=action, times=1)
    with pytest.raises(QuotaUsedUp) as used_up:
        service.draw("first", CHART, 5.0)
    assert used_up.value.retry_after == wait


def test_the_services_own_limit_is_a_used_up_account(server: ChartImgServer, service: ChartImg) -> None:
    server.quotas.limit(KEY, 1)
    service.draw("first", CHART, 5.0)
    with pytest.raises(QuotaUsedUp):
        service.draw("first", CHART, 5.0)


def test_a_page_is_no_picture(server: ChartImgServer, service: ChartImg) -> None:
    server.faults.add(service="chart_img", action=shape("non_png"), times=1)
    error = refusal(service).error
    assert (error.code, error.retryable, error.details) == (
        Code.CHART_API_FAILED,
        False,
        {"status": 200, "reason": "not_a_png"},
    )


@pytest.mark.parametrize("more", [0, 1])
def test_an_answer_without_measure_is_refused_and_not_asked_for_again(more: int) -> None:
    body = PNG_SIGNATURE.ljust(LARGEST_ANSWER + more, b".")
    with answering(Reply(200, body)) as service:
        if not more:
            assert service.draw("first", CHART, 5.0) == body
            return
        failure = refusal(service)
    error = failure.error
    assert type(failure) is StepFailed
    assert (error.code, error.retryable, error.details) == (
        Code.CHART_API_FAILED,
        False,
        {"status": 200, "reason": "answer_too_large"},
    )


def test_somewhere_else_is_no_place_to_take_the_key_to() -> None:
    with answering(Reply(302, headers={"Location": "https://example.org/elsewhere"})) as service:
        failure = refusal(service)
    assert (type(failure), failure.error.retryable, failure.error.details) == (StepFailed, False, {"status": 302})


def test_what_a_refusal_says_at_length_does_not_change_what_it_is() -> None:
    with answering(Reply(503, b"." * (LARGEST_ANSWER + 1))) as service:
        failure = refusal(service)
    assert (type(failure), failure.error.details) == (NetworkError, {"status": 503})


@contextmanager
def answering(reply: Reply) -> Iterator[ChartImg]:
    server = Server(lambda _: reply).start()
    try:
        yield ChartImg(server.url, {"first": KEY})
    finally:
        server.stop()


@pytest.mark.parametrize(
    "action",
    [drop(), drop_after(), refuse(), hang(0.05), shape("truncated_png")],
    ids=["drop", "after", "refuse", "hang", "half a picture"],
)
def test_a_broken_connection_is_silence(server: ChartImgServer, service: ChartImg, action: Fault) -> None:
    planned = server.faults.add(service="chart_img", action=action, times=1)
    failure = refusal(service)
    assert (type(failure), failure.error.code) == (NetworkError, Code.CHART_API_FAILED)
    assert planned.fired == 1


def test_silence_lasts_no_longer_than_the_time_there_is(server: ChartImgServer, service: ChartImg) -> None:
    server.faults.add(service="chart_img", action=hang(30), times=1)
    start = time.monotonic()
    assert type(refusal(service, timeout=0.2)) is NetworkError
    assert time.monotonic() - start < 2


def test_nobody_listening_is_silence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        service = ChartImg(f"http://127.0.0.1:{taken.getsockname()[1]}", {"first": KEY})
        assert type(refusal(service)) is NetworkError


@pytest.mark.parametrize("manner", TRICKLES)
def test_a_picture_that_trickles_is_silence_in_the_end(manner: str) -> None:
    """A library's timeout starts anew with each byte; the time there is does not."""
    with trickling(manner, PNG_SIGNATURE) as url:
        start = time.monotonic()
        assert type(refusal(ChartImg(url, {"first": KEY}), timeout=0.3)) is NetworkError
        assert time.monotonic() - start < 1.5
