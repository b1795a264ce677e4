"""One server for the session; each test begins with fresh quotas and fair weather."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from emulator.chart_img import ChartImgServer, Plan
from emulator.chart_img.api import PATH

KEY, OTHER_KEY = "the-right-key", "another-right-key"
Ask = Callable[..., requests.Response]


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def running(clock: Clock) -> Iterator[ChartImgServer]:
    with ChartImgServer(keys=[KEY, OTHER_KEY], plan=Plan(daily=20), clock=clock) as server:
        yield server


@pytest.fixture
def server(running: ChartImgServer) -> ChartImgServer:
    running.faults.clear()
    running.faults.calls.clear()
    running.reset()
    return running


@pytest.fixture
def ask(server: ChartImgServer) -> Ask:
    def post(order: Any = None, *, key: str | None = KEY, **more: Any) -> requests.Response:
        body = {"symbol": "BINANCE:BTCUSDT", "interval": "1D", **more} if order is None else order
        headers = {"x-api-key": key} if key else {}
        return requests.post(server.url + PATH, json=body, headers=headers, timeout=5)

    return post
