"""A run on request, over HTTP: one key is one run, whoever asks how often and whichever reply is lost."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from emulator.faults import drop_after, status
from flowcore import runtime
from flowcore.ports import Documents
from flowcore.testing.builders import a_step
from tests.functions.probe.provider import Provider
from tests.functions.system import System

FLOW = "probe_flow"  # a run's id begins with its flow's name, so the probe hears of these
SCHEDULER = {
    "X-CloudScheduler": "true",
    "X-CloudScheduler-JobName": "every-4h",
    "X-CloudScheduler-ScheduleTime": "2025-12-24T12:00:00+00:00",
}


@pytest.fixture
def flow(system: System, provider: Provider) -> str:
    step = {"stepType": "PROBE", "dependsOn": [], "inputs": {"provider": provider.url, "symbol": "${symbol}"}}
    parameters = {"symbol": {"pattern": "[A-Z]{3,12}"}, "days": {"default": 30}}
    system.put(f"flow_definitions/{FLOW}", {"parameters": parameters, "steps": {"work": step}})
    return FLOW


def start(system: System, key: str | None = "key-1", headers: dict[str, str] | None = None, **body: Any) -> Any:
    asked = {"flowKey": FLOW, "parameters": {"symbol": "BTCUSDT"}, **body}
    if key:
        asked["idempotencyKey"] = key
    return system.call("start_flow", json=asked, headers=headers)


def assert_problem(answer: requests.Response, code: int, name: str) -> dict[str, Any]:
    assert answer.status_code == code, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"code", "message", "details", "traceId"}
    assert error["code"] == name
    assert error["message"]
    return error


def runs(system: System) -> list[str]:
    return [found.id for found in system.db.collection("flow_runs").stream()]


@pytest.mark.acceptance("F7")
@pytest.mark.usefixtures("flow")
def test_one_key_is_one_run(system: System, provider: Provider) -> None:
    first, again = start(system), start(system)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["created"], again.json()["created"]) == (True, False)
    assert first.json()["runId"] == again.json()["runId"]
    system.settle()
    assert runs(system) == [first.json()["runId"]]
    run = system.run(first.json()["runId"])
    assert (run["status"], run["scope"], run["flowKey"]) == ("SUCCEEDED", {"symbol": "BTCUSDT", "days": 30}, FLOW)
    assert run["trigger"] == {"type": "USER", "source": "start_flow"}
    assert provider.calls == 1


@pytest.mark.acceptance("F7")
@pytest.mark.usefixtures("flow")
def test_the_key_may_come_as_a_header(system: System) -> None:
    answers = [start(system, key=None, headers={"Idempotency-Key": "key-2"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]


@pytest.mark.acceptance("F7", "F8")
@pytest.mark.usefixtures("flow")
def test_another_wish_under_the_same_key_is_refused(system: System) -> None:
    first = start(system)
    other = start(system, parameters={"symbol": "ETHUSDT"})
    error = assert_problem(other, 409, "IDEMPOTENCY_PAYLOAD_MISMATCH")
    assert error["details"] == {"runId": first.json()["runId"]}
    system.settle()
    assert len(runs(system)) == 1


@pytest.mark.usefixtures("flow")
def test_without_a_key_every_call_is_a_run(system: System) -> None:
    answers = [start(system, key=None) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert len({answer.json()["runId"] for answer in answers}) == 2


@pytest.mark.usefixtures("flow")
def test_cloud_scheduler_repeating_a_call_gets_the_same_run(system: System) -> None:
    first, again = (start(system, key=None, headers=SCHEDULER) for _ in range(2))
    next_time = SCHEDULER | {"X-CloudScheduler-ScheduleTime": "2025-12-24T16:00:00+00:00"}
    later = start(system, key=None, headers=next_time)
    assert [answer.status_code for answer in (first, again, later)] == [201, 200, 201]
    assert system.run(first.json()["runId"])["trigger"] == {"type": "SCHEDULER", "source": "every-4h"}


@pytest.mark.usefixtures("flow")
def test_a_lost_reply_to_the_creation_does_not_make_a_second_run(system: System) -> None:
    lost = system.faults.add(service="firestore", method="Commit", resource="flow_runs/*", action=drop_after(), times=1)
    answer = start(system)
    assert lost.fired == 1
    assert answer.status_code == 200  # it found what it had made itself
    system.settle()
    assert runs(system) == [answer.json()["runId"]]


@pytest.mark.usefixtures("flow")
def test_a_creation_that_came_to_nothing_is_made_again(system: System) -> None:
    """Under contention Firestore aborts: nothing is there, and a caller must not be told that something is."""
    aborted = system.faults.add(
        service="firestore", method="Commit", resource="flow_runs/*", action=status("ABORTED"), times=1
    )
    answer = start(system)
    assert (answer.status_code, aborted.fired) == (201, 1)
    system.settle()
    assert runs(system) == [answer.json()["runId"]]


@pytest.mark.usefixtures("flow")
def test_many_at_once_with_one_key_start_one_run(system: System, provider: Provider) -> None:
    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(lambda _: start(system), range(6)))
    system.settle()
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]
    assert len({answer.json()["runId"] for answer in answers}) == 1
    assert provider.calls == 1


@pytest.mark.usefixtures("flow")
def test_silence_for_a_moment_is_outlasted(system: System) -> None:
    silent = system.faults.add(service="firestore", action=status(503), times=3)
    assert start(system).status_code == 201
    assert silent.fired == 3


@pytest.mark.acceptance("F8")
@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize(
    ("body", "code", "name"),
    [
        ({"flowKey": "no_such_flow"}, 404, "FLOW_NOT_FOUND"),
        ({"flowKey": "../etc"}, 400, "INVALID_REQUEST"),
        ({"flowKey": None}, 400, "INVALID_REQUEST"),
        ({"parameters": {}}, 400, "INVALID_REQUEST"),
        ({"parameters": {"symbol": "btc/usdt"}}, 400, "INVALID_REQUEST"),
        ({"parameters": {"symbol": "BTCUSDT", "day": 3}}, 400, "INVALID_REQUEST"),
        ({"parameters": {"symbol": "BTCUSDT", "days": "3"}}, 400, "INVALID_REQUEST"),
        ({"parameters": ["BTCUSDT"]}, 400, "INVALID_REQUEST"),
        ({"idempotencyKey": "k" * 201}, 400, "INVALID_REQUEST"),
        ({"idempotencyKey": 7}, 400, "INVALID_REQUEST"),
        ({"idempotencyKey": 0}, 400, "INVALID_REQUEST"),
        ({"idempotencyKey": ""}, 400, "INVALID_REQUEST"),
        ({"idempotencyKey": "\ud800"}, 400, "INVALID_REQUEST"),
    ],
    ids=[
        "no such flow",
        "no name of a flow",
        "no flow",
        "a parameter is missing",
        "a parameter does not match",
        "a parameter is unknown",
        "a parameter of another type",
        "parameters are a list",
        "a long key",
        "a key that is no text",
        "a key that is nothing",
        "an empty key",
        "half a character",
    ],
)
def test_a_request_that_cannot_be_served_says_why(system: System, body: dict[str, Any], code: int, name: str) -> None:
    asked = {"flowKey": FLOW, "parameters": {"symbol": "BTCUSDT"}, "idempotencyKey": "k", **body}
    trace = {"X-Cloud-Trace-Context": "105445aa7843bc8bf206b12000100000/1;o=1"}
    error = assert_problem(system.call("start_flow", json=asked, headers=trace), code, name)
    assert error["traceId"] == "105445aa7843bc8bf206b12000100000"
    assert runs(system) == []


@pytest.mark.acceptance("F8")
@pytest.mark.parametrize("body", [b"", b"[1]", b"{not json", b"\xff"], ids=["nothing", "a list", "no JSON", "no text"])
def test_a_body_that_is_no_object_is_a_bad_request(system: System, body: bytes) -> None:
    assert_problem(system.call("start_flow", data=body), 400, "INVALID_REQUEST")


@pytest.mark.acceptance("F8")
def test_a_definition_that_makes_no_run_is_named(system: System) -> None:
    system.put(f"flow_definitions/{FLOW}", {"steps": {"a": a_step("PROBE", depends_on=["nobody"])}})
    error = assert_problem(start(system, parameters={}), 422, "FLOW_DEFINITION_INVALID")
    assert error["details"]["path"].startswith("steps.a.dependsOn")


@pytest.mark.acceptance("F8")
@pytest.mark.usefixtures("flow")
def test_firestore_out_of_order_is_a_503_with_a_time_to_come_back(system: System) -> None:
    system.faults.add(service="firestore", action=status(429, retry_after=0.5))
    answer = start(system)
    assert_problem(answer, 503, "FIRESTORE_UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.acceptance("F8")
@pytest.mark.usefixtures("flow")
def test_a_number_that_no_document_holds_is_the_callers_mistake(system: System) -> None:
    assert_problem(start(system, parameters={"symbol": "BTCUSDT", "days": 2**64}), 400, "INVALID_REQUEST")


@pytest.mark.acceptance("F8")
@pytest.mark.usefixtures("flow")
def test_what_nobody_foresaw_has_the_same_shape_and_keeps_its_words_to_itself(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Documents:
        raise RuntimeError("the words of a secret")

    monkeypatch.setattr(runtime, "documents", broken)
    answer = start(system, parameters={"symbol": "BTCUSDT"})
    assert_problem(answer, 500, "INTERNAL")
    assert "secret" not in answer.text
    assert "start_failed" in [line["event"] for line in system.logs]
