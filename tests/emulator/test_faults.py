"""The weather obeys: each fault fires when it should, as often as it should, and is counted."""

import json
import time
from threading import Thread
from typing import Any

import pytest

from emulator.faults import (
    AFTER,
    BEFORE,
    Call,
    Disconnected,
    Fault,
    Faults,
    StatusReturned,
    delay,
    drop,
    drop_after,
    hang,
    kill,
    refuse,
    shape,
    status,
)
from emulator.faults.callers import Caller, Connection, called_from
from emulator.faults.http import Answer, action_from, answer, mounted


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


# --- which call is met ------------------------------------------------------------------------------------


def test_nothing_planned_is_nothing_wrong() -> None:
    assert Faults().decide("storage", "objects.get", "b/o") is None


def test_fault_fires_as_often_as_planned_and_says_so() -> None:
    faults = Faults()
    planned = faults.add(service="storage", action=status(503), times=2)
    met = [faults.decide("storage", "objects.get", "b/o") for _ in range(5)]
    assert met == [planned.action, planned.action, None, None, None]
    assert (planned.fired, planned.spent) == (2, True)


def test_fault_meets_only_the_service_method_and_resource_it_names() -> None:
    faults = Faults()
    faults.add(service="storage", method="objects.*", resource="reports/*/r1", action=drop())
    assert faults.decide("firestore", "objects.get", "reports/x/r1") is None
    assert faults.decide("storage", "buckets.get", "reports/x/r1") is None
    assert faults.decide("storage", "objects.get", "charts/x/r1") is None
    assert faults.decide("storage", "objects.get", "reports/x/r1") is not None


def test_fault_meets_a_batch_in_which_one_name_fits() -> None:
    faults = Faults()
    planned = faults.add(resource="*runs/r2", action=drop())
    met = [
        faults.decide("firestore", "Commit", *names)
        for names in (["runs/r2", "runs/r3"], ["runs/r1", "runs/r2", "runs/r3"], ["runs/r1", "runs/r22"], [])
    ]
    assert met == [planned.action, planned.action, None, None]


def test_batch_is_counted_once_however_many_of_its_names_fit() -> None:
    faults = Faults()
    faults.decide("firestore", "Commit", "runs/r1", "runs/r2")
    faults.decide("firestore", "Commit", "runs/r2")
    faults.decide("firestore", "Rollback")
    assert faults.calls.count(resource="runs/*") == faults.calls.count(resource="runs/r2") == 2
    assert faults.calls.count(resource="runs/r1") == faults.calls.count(resource="runs/r1,runs/r2") == 1
    assert faults.calls.count() == 3
    assert dict(faults.calls.items())[Call("firestore", "Commit", "runs/r1,runs/r2")] == 1


def test_fault_can_let_some_calls_pass_first() -> None:
    faults = Faults()
    faults.add(action=drop(), skip=2, times=1)
    met = [faults.decide("storage", "objects.get", "b/o") is not None for _ in range(4)]
    assert met == [False, False, True, False]


def test_chance_is_repeatable() -> None:
    def weather(seed: int) -> list[bool]:
        faults = Faults()
        faults.add(action=drop(), probability=0.3, seed=seed)
        return [faults.decide("storage", "objects.get", "b/o") is not None for _ in range(200)]

    assert weather(1) == weather(1)
    assert weather(1) != weather(2)
    assert 30 < sum(weather(1)) < 90


def test_first_planned_fault_decides_alone() -> None:
    faults = Faults()
    first = faults.add(action=status(503), times=1)
    second = faults.add(action=status(429), times=1)
    assert faults.decide("storage", "objects.get", "b/o") == first.action
    assert (first.fired, second.fired) == (1, 0)
    assert faults.decide("storage", "objects.get", "b/o") == second.action


def test_cleared_or_removed_faults_never_fire() -> None:
    faults = Faults()
    removed = faults.add(action=drop())
    assert faults.remove(removed.id)
    assert not faults.remove(removed.id)
    faults.add(action=drop())
    faults.clear()
    assert faults.decide("storage", "objects.get", "b/o") is None
    assert faults.planned == []


def test_unknown_shape_is_refused_with_the_known_ones() -> None:
    faults = Faults()
    faults.add(service="gemini", action=shape("safety"))
    with pytest.raises(ValueError, match="'gemini' has no shape 'duplicate'; it knows blocked_prompt, "):
        faults.add(service="gemini", action=shape("duplicate"))


# --- what happens in the call -----------------------------------------------------------------------------


def test_status_ends_the_call_before_the_effect() -> None:
    faults = Faults()
    faults.add(action=status(429, "slow down", retry_after=1.5))
    done = []
    with pytest.raises(StatusReturned) as ended, faults.call("storage", "objects.insert", "b/o"):
        done.append("effect")
    assert (ended.value.status.code, ended.value.status.name) == (429, "RESOURCE_EXHAUSTED")
    assert (ended.value.status.message, ended.value.status.retry_after) == ("slow down", 1.5)
    assert done == []


@pytest.mark.parametrize("action", [drop(), refuse(), hang(0.01)])
def test_connection_ends_before_the_effect(action: Fault) -> None:
    faults = Faults()
    faults.add(action=action)
    done = []
    with pytest.raises(Disconnected), faults.call("storage", "objects.insert", "b/o"):
        done.append("effect")
    assert done == []


def test_reply_is_lost_after_the_effect() -> None:
    faults = Faults()
    lost = faults.add(action=drop_after(), times=1)
    done = []
    with pytest.raises(Disconnected), faults.call("storage", "objects.insert", "b/o"):
        done.append("effect")
    assert done == ["effect"]
    assert lost.fired == 1


def test_lost_reply_may_have_been_an_error() -> None:
    faults = Faults()
    faults.add(action=drop_after(), times=1)
    with pytest.raises(Disconnected), faults.call("storage", "objects.insert", "b/o"):
        raise LookupError("no such object")


def test_status_by_canonical_name_after_the_effect() -> None:
    applied = status("DEADLINE_EXCEEDED", applied=True)
    assert applied.when == AFTER
    assert status(503).when == BEFORE
    with pytest.raises(ValueError, match="use one of: ABORTED, "):
        status("BROKEN")


def test_slow_call_goes_on() -> None:
    faults = Faults()
    faults.add(action=delay(0.05))
    started = time.monotonic()
    with faults.call("storage", "objects.insert", "b/o"):
        assert time.monotonic() - started >= 0.05


def test_slow_call_may_end_in_an_error() -> None:
    assert delay(2, status(503)).end == status(503).end
    assert delay(2, status(503)).wait == 2


def test_clearing_lets_go_of_a_call_that_hangs() -> None:
    faults = Faults()
    faults.add(action=hang(60))
    ended: list[Exception] = []

    def call() -> None:
        try:
            with faults.call("storage", "objects.get", "b/o"):
                pass
        except Disconnected as error:
            ended.append(error)

    thread = Thread(target=call)
    thread.start()
    while not faults.calls.count():
        time.sleep(0.005)
    faults.clear()
    thread.join(5)
    assert ended


# --- the death of a caller --------------------------------------------------------------------------------


@pytest.mark.parametrize(("applied", "left"), [(False, []), (True, ["effect"])])
def test_caller_is_killed_before_or_after_the_effect_and_hears_nothing(applied: bool, left: list[str]) -> None:
    faults = Faults()
    killed: list[list[str]] = []
    done: list[str] = []
    register = {Connection(4711, 80): Caller("worker", lambda: killed.append(list(done)))}
    faults.may_kill(register.get)
    planned = faults.add(action=kill(applied=applied))
    with called_from(lambda: Connection(4711, 80)), pytest.raises(Disconnected), faults.call("storage", "get", "b/o"):
        done.append("effect")
    assert killed == [left]
    assert planned.fired == 1
    assert faults.history.of("call")[0].detail == {"fault": planned.id, "killed": "worker"}


def test_kill_meets_only_callers_that_may_be_killed() -> None:
    faults = Faults()
    faults.may_kill(lambda _: None)
    planned = faults.add(action=kill(), times=1)
    with called_from(lambda: Connection(4711, 80)):
        assert faults.decide("storage", "objects.get", "b/o") is None
    assert faults.decide("storage", "objects.get", "b/o") is None, "a call from nowhere outside"
    assert planned.fired == 0


# --- the write limit --------------------------------------------------------------------------------------


def test_document_written_too_fast_is_told_to_wait() -> None:
    clock = Clock()
    faults = Faults(clock=clock)
    limit = faults.limit_writes(1.0)
    assert faults.throttle(["runs/a"]) is None
    assert faults.throttle(["runs/a"]) == limit.action
    assert faults.throttle(["runs/b"]) is None
    clock.now += 1.0
    assert faults.throttle(["runs/a"]) is None
    assert limit.fired == 1
    assert [(record.resource, record.detail) for record in faults.history.of("throttle")] == [
        ("runs/a", {"fault": limit.id})
    ]


def test_burst_passes_and_a_stream_does_not() -> None:
    clock = Clock()
    faults = Faults(clock=clock)
    faults.limit_writes(1.0, burst=5)
    assert [faults.throttle(["runs/a"]) is None for _ in range(7)] == [True] * 5 + [False] * 2


def test_writes_made_together_wait_together() -> None:
    clock = Clock()
    faults = Faults(clock=clock)
    faults.limit_writes(1.0, resource="runs/*")
    assert faults.throttle(["runs/a"]) is None
    assert faults.throttle(["runs/a", "runs/b"]) is not None
    assert faults.throttle(["runs/b"]) is None, "the refused commit took nothing from runs/b"
    assert faults.throttle(["other/a", "other/a"]) is None


# --- the record -------------------------------------------------------------------------------------------


def test_every_call_is_counted_by_service_method_and_resource() -> None:
    faults = Faults()
    faults.add(service="storage", action=status(503), times=1)
    for resource in ("b/1", "b/1", "b/2"):
        faults.decide("storage", "objects.get", resource)
    faults.decide("firestore", "Commit", "runs/a")
    assert faults.calls.count() == 4
    assert faults.calls.count(service="storage") == 3
    assert faults.calls.count(resource="b/1") == 2
    assert dict(faults.calls.items())[Call("storage", "objects.get", "b/2")] == 1


def test_history_tells_which_call_met_which_fault() -> None:
    faults = Faults()
    planned = faults.add(service="storage", action=status(503), times=1)
    faults.decide("storage", "objects.get", "b/1")
    faults.decide("storage", "objects.get", "b/2")
    told = [(record.sequence, record.resource, record.detail.get("fault")) for record in faults.history.of("call")]
    assert told == [(1, "b/1", planned.id), (2, "b/2", None)]


# --- by HTTP ----------------------------------------------------------------------------------------------


def asked(faults: Faults, method: str, target: str, wish: Any = None) -> Answer:
    path, _, query = target.partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&") if pair)
    return answer(faults, method, path, pairs, json.dumps(wish).encode() if wish is not None else b"")


@pytest.mark.parametrize(
    ("wish", "action"),
    [
        ("drop", drop()),
        ("drop_after", drop_after()),
        ({"refuse": True}, refuse()),
        ({"delay": 0.5}, delay(0.5)),
        ({"delay": 0.5, "status": 503}, delay(0.5, status(503))),
        ({"hang": 30}, hang(30)),
        ({"hang": 30, "applied": True}, hang(30, applied=True)),
        ("kill", kill()),
        ({"kill": True, "applied": True}, kill(applied=True)),
        ({"delay": 0.5, "kill": True}, delay(0.5, kill())),
        ({"status": 429, "retryAfter": 1.5}, status(429, retry_after=1.5)),
        ({"status": "ABORTED", "message": "moved", "applied": True}, status("ABORTED", "moved", applied=True)),
        ({"shape": "duplicate"}, shape("duplicate")),
        ({"shape": "delay", "seconds": 2}, shape("delay", 2)),
    ],
)
def test_every_action_can_be_told_as_json(wish: Any, action: Fault) -> None:
    assert action_from(wish) == action


def test_face_plans_tells_and_forgets() -> None:
    faults = Faults()
    wish = {"service": "gemini", "action": {"shape": "safety"}, "times": 2, "skip": 1, "probability": 1.0, "seed": 3}
    planned = asked(faults, "POST", "/__faults", wish).value
    assert (planned["service"], planned["method"], planned["times"], planned["fired"]) == ("gemini", "*", 2, 0)
    faults.decide("gemini", "generateContent", "m")
    faults.decide("gemini", "generateContent", "m")
    (told,) = asked(faults, "GET", "/__faults").value["faults"]
    assert (told["id"], told["fired"], told["action"]["shape"]) == (planned["id"], 1, "safety")
    assert asked(faults, "DELETE", f"/__faults/{planned['id']}").status == 200
    assert asked(faults, "DELETE", f"/__faults/{planned['id']}").status == 404
    asked(faults, "POST", "/__faults", {"action": "drop"})
    asked(faults, "DELETE", "/__faults")
    assert asked(faults, "GET", "/__faults").value == {"faults": []}


def test_face_limits_writes() -> None:
    faults = Faults(clock=Clock())
    asked(faults, "POST", "/__faults", {"resource": "runs/*", "action": {"limitWrites": 1, "burst": 2}})
    assert [faults.throttle(["runs/a"]) is None for _ in range(3)] == [True, True, False]
    assert asked(faults, "GET", "/__faults").value["faults"][0]["fired"] == 1


def test_face_shows_counters_and_history() -> None:
    faults = Faults()
    for _ in range(3):
        faults.decide("storage", "objects.get", "b/o")
    call = {"service": "storage", "method": "objects.get", "resource": "b/o"}
    assert asked(faults, "GET", "/__calls").value == {"calls": [{**call, "count": 3}]}
    page = asked(faults, "GET", "/__history?since=1&limit=1").value
    assert ([record["sequence"] for record in page["records"]], page["next"]) == ([2], 2)
    asked(faults, "DELETE", "/__calls")
    asked(faults, "DELETE", "/__history")
    assert asked(faults, "GET", "/__calls").value == {"calls": []}
    assert asked(faults, "GET", "/__history").value["records"] == []


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"action": "explode"}, "no action is called"),
        ({"action": {"status": "BROKEN"}}, "not a canonical name"),
        ({"service": "storage"}, "a fault needs an action"),
        ({"action": "kill"}, "nobody here knows who calls"),
        ({"action": "drop", "tiems": 1}, "unknown: tiems"),
        ({"service": "storage", "action": {"shape": "safety"}}, "no shape 'safety'"),
        ({"action": {"limitWrites": 0}}, "lets nothing through"),
        ({"action": "drop", "times": "2"}, "times: '2'"),
        ({"action": "drop", "skip": -1}, "skip: -1"),
        ({"action": "drop", "probability": 30}, "probability: 30"),
        ({"action": {"status": 429, "retryAfter": "soon"}}, "soon"),
        (["drop"], "a fault is an object"),
    ],
)
def test_mistake_is_answered_with_words(wish: Any, words: str) -> None:
    told = asked(Faults(), "POST", "/__faults", wish)
    assert told.status == 400
    assert words in told.value["error"]


def test_face_leaves_other_paths_to_the_service() -> None:
    assert mounted("/__faults/f1")
    assert mounted("/__history")
    assert not mounted("/storage/v1/b")
    assert not mounted("/")
