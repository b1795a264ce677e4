"""What the service draws, what it refuses, and in which words."""

import io
from typing import Any

import pytest
import requests
from PIL import Image

from emulator.chart_img import ChartImgServer, Plan
from emulator.chart_img.api import PATH
from tests.emulator.chart_img.conftest import KEY, OTHER_KEY, Ask, Clock

STUDIES = [{"name": "Moving Average", "input": {"length": 12}}, {"name": "Volume", "forceOverlay": True}]


def test_an_order_is_answered_with_a_picture_of_its_size(ask: Ask) -> None:
    answer = ask(width=640, height=480, theme="dark", studies=STUDIES)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    image = Image.open(io.BytesIO(answer.content))
    image.load()
    assert image.size == (640, 480)


def test_defaults_are_those_of_the_service(ask: Ask) -> None:
    assert Image.open(io.BytesIO(ask({}).content)).size == (800, 600)


def test_same_order_same_picture(ask: Ask) -> None:
    assert ask().content == ask().content


@pytest.mark.parametrize(
    "other",
    [
        {"symbol": "BINANCE:ETHUSDT"},
        {"interval": "4h"},
        {"theme": "dark"},
        {"studies": STUDIES},
        {"timezone": "Asia/Tokyo"},
        {"height": 610},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_order_another_picture(ask: Ask, other: dict[str, Any]) -> None:
    assert ask().content != ask(**other).content


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ({"symbol": "BTCUSDT"}, "symbol must be EXCHANGE:SYMBOL"),
        ({"symbol": 5}, "symbol must be a string"),
        ({"interval": "1d"}, "interval must be one of 1m,"),
        ({"theme": "sepia"}, "theme must be one of light, dark"),
        ({"width": 10}, "width must be an integer of at least 320"),
        ({"height": "600"}, "height must be an integer of at least 220"),
        ({"studies": {}}, "studies must be an array"),
        ({"studies": [{"name": "Volume"}, {"name": "RSI"}]}, "studies.1.name must be a supported name"),
        ({"studies": ["Volume"]}, "studies.0.name must be a supported name"),
        ({"studies": [{"name": ["Volume"]}]}, "studies.0.name must be a supported name"),
        ({"studies": [{"name": "Volume", "input": 4}]}, "studies.0.input must be an object"),
    ],
)
def test_a_wrong_order_is_refused_and_says_what_is_wrong(ask: Ask, order: dict[str, Any], message: str) -> None:
    answer = ask(order)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(message)


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"'])
def test_what_is_no_order_at_all_is_a_bad_request(server: ChartImgServer, body: bytes) -> None:
    answer = requests.post(server.url + PATH, data=body, headers={"x-api-key": KEY}, timeout=5)
    assert (answer.status_code, answer.json()) == (400, {"message": "Invalid JSON"})


@pytest.mark.parametrize("key", [None, "", "a-wrong-key"])
def test_without_its_key_nobody_is_let_in(server: ChartImgServer, ask: Ask, key: str | None) -> None:
    answer = ask(key=key)
    assert (answer.status_code, answer.json()) == (403, {"message": "Forbidden"})
    assert server.quotas.used(KEY) == 0


@pytest.mark.parametrize(("method", "path"), [("GET", PATH), ("POST", "/v2/tradingview"), ("POST", "/")])
def test_there_is_one_path(server: ChartImgServer, method: str, path: str) -> None:
    answer = requests.request(method, server.url + path, headers={"x-api-key": KEY}, json={}, timeout=5)
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})


# --- limits -----------------------------------------------------------------------------------------------


def test_a_key_that_used_up_its_day_is_refused_until_midnight(server: ChartImgServer, ask: Ask, clock: Clock) -> None:
    server.quotas.limit(KEY, 2)
    assert [ask().status_code for _ in range(3)] == [200, 200, 429]
    assert ask().json() == {"message": "Limit Exceeded"}
    assert ask(key=OTHER_KEY).status_code == 200
    clock.now += 86_400
    assert ask().status_code == 200


def test_the_plans_own_limit_holds_for_every_key(server: ChartImgServer, ask: Ask) -> None:
    assert [ask({"symbol": "X"}).status_code for _ in range(21)] == [422] * 20 + [429]
    assert server.quotas.used(KEY) == 20


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"width": 2000}, "Exceed Max Usage Resolution Limit (1920x1080)"),
        ({"studies": STUDIES * 2, "drawings": [{}, {}]}, "Exceed Max Usage Parameter Limit (5)"),
    ],
)
def test_what_the_plan_does_not_include_is_forbidden(ask: Ask, more: dict[str, Any], message: str) -> None:
    answer = ask(**more)
    assert (answer.status_code, answer.json()) == (403, {"message": message})


def test_without_keys_everybody_is_let_in() -> None:
    with ChartImgServer(plan=Plan(daily=1)) as server:
        answers = [
            requests.post(server.url + PATH, json={}, headers={"x-api-key": key}, timeout=5).status_code
            for key in ("a", "a", "b")
        ]
    assert answers == [200, 429, 200]
