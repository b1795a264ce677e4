"""Every fault, as a client of the real service would meet it; each is counted."""

import pytest
import requests

from emulator.chart_img import ChartImgServer
from emulator.faults import Fault, delay, drop, drop_after, hang, refuse, shape, status
from tests.emulator.chart_img.conftest import KEY, Ask


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 429, 500, 502, 503, 504])
def test_a_status_comes_with_its_message(server: ChartImgServer, ask: Ask, code: int) -> None:
    planned = server.faults.add(service="chart_img", action=status(code, "bad weather"), times=1)
    answer = ask()
    assert (answer.status_code, answer.json()) == (code, {"message": "bad weather"})
    assert planned.fired == 1
    assert server.quotas.used(KEY) == 0
    assert ask().status_code == 200


def test_advice_when_to_come_back_is_in_the_header(server: ChartImgServer, ask: Ask) -> None:
    server.faults.add(service="chart_img", action=status(429, retry_after=1.5), times=1)
    assert ask().headers["Retry-After"] == "2"


@pytest.mark.parametrize("action", [drop(), refuse(), hang(0.05)], ids=["drop", "refuse", "hang"])
def test_a_broken_connection_costs_nothing(server: ChartImgServer, ask: Ask, action: Fault) -> None:
    server.faults.add(service="chart_img", action=action, times=1)
    with pytest.raises(requests.ConnectionError):
        ask()
    assert server.quotas.used(KEY) == 0


def test_a_lost_picture_was_paid_for(server: ChartImgServer, ask: Ask) -> None:
    server.faults.add(service="chart_img", action=drop_after(), times=1)
    with pytest.raises(requests.ConnectionError):
        ask()
    assert server.quotas.used(KEY) == 1


def test_a_slow_picture_is_a_picture(server: ChartImgServer, ask: Ask) -> None:
    server.faults.add(service="chart_img", action=delay(0.02), times=1)
    assert ask().status_code == 200


def test_a_page_instead_of_a_picture(server: ChartImgServer, ask: Ask) -> None:
    server.faults.add(service="chart_img", action=shape("non_png"), times=1)
    answer = ask()
    assert (answer.status_code, answer.content[:5]) == (200, b"<html")


def test_half_a_picture_is_a_broken_answer(server: ChartImgServer, ask: Ask) -> None:
    server.faults.add(service="chart_img", action=shape("truncated_png"), times=1)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        ask()


def test_faults_and_counters_go_by_the_symbol(server: ChartImgServer, ask: Ask) -> None:
    planned = server.faults.add(service="chart_img", method="AdvancedChart", resource="*:ETH*", action=status(500))
    assert (ask().status_code, ask(symbol="BINANCE:ETHUSDT").status_code) == (200, 500)
    assert planned.fired == 1
    assert server.faults.calls.count("chart_img", "AdvancedChart", "BINANCE:BTCUSDT") == 1
    assert server.faults.calls.count("chart_img") == 2
    (chart,) = server.faults.history.of("chart")[-1:]
    assert (chart.resource, chart.detail["bytes"] > 1000) == ("BINANCE:BTCUSDT", True)


def test_faults_can_be_planned_by_http(server: ChartImgServer, ask: Ask) -> None:
    wish = {"service": "chart_img", "action": {"status": 503}, "times": 1}
    assert requests.post(f"{server.url}/__faults", json=wish, timeout=5).status_code == 200
    assert ask().status_code == 503


def test_history_never_holds_a_key(server: ChartImgServer, ask: Ask) -> None:
    ask()
    assert KEY not in str([record.as_json() for record in server.faults.history.of()])
