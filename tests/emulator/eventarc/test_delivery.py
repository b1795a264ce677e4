"""At least once, in no order, several at a time; and what becomes of an event that nobody takes."""

import random
import socket
from dataclasses import replace

import pytest
import requests
from google.cloud import firestore

from emulator.eventarc import EventarcServer, Subscription
from emulator.eventarc.retrying import KEPT_FOR, LONGEST, SHORTEST, next_delay
from emulator.faults import Faults, delay, drop, drop_after, shape, status
from emulator.firestore.server import FirestoreServer
from tests.emulator.eventarc.conftest import Subscribe
from tests.emulator.eventarc.receiver import Receiver, eventually


def write(db: firestore.Client, *values: int) -> None:
    for value in values:
        db.document(f"runs/r{value}").set({"v": value})


def test_a_failed_event_comes_again(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function(script=[500, 429, 302])
    write(db, 1)
    assert eventarc.settled(5)
    assert told.values == [1, 1, 1, 1]
    assert len({event.id for event in told.received}) == 1
    assert eventarc.state.delivered == 1


def test_without_retry_a_failed_event_is_dropped(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    told = function(retry=False, script=[500])
    write(db, 1, 2)
    assert eventarc.settled(5)
    assert sorted(told.values) == [1, 2]
    assert (eventarc.state.delivered, eventarc.state.dropped) == (1, 1)


def test_an_absent_function_is_waited_for(db: firestore.Client, eventarc: EventarcServer) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        eventarc.subscribe(Subscription("late", f"http://127.0.0.1:{nobody.getsockname()[1]}", "runs/{id}"))
        write(db, 1)
        assert not eventarc.settled(0.1)
    receiver = Receiver()
    eventarc.subscribe(Subscription("late", receiver.url, "runs/{id}"))
    assert eventarc.settled(5)
    receiver.stop()
    assert set(receiver.values) == {1}


def test_a_function_that_is_unsubscribed_is_told_nothing_more_and_waited_for_no_longer(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    going, staying = function(script=[500] * 1000), function()
    write(db, 1)
    assert eventually(lambda: len(going.received) >= 2 and len(staying.received) == 1)
    eventarc.unsubscribe("function-1")
    assert eventarc.settled(5)
    told = len(going.received)
    write(db, 2)
    assert eventarc.settled(5)
    assert staying.values == [1, 2]
    assert len(going.received) == told
    assert (eventarc.state.pending, eventarc.state.dead_letters) == ((), ())
    eventarc.unsubscribe("function-1")  # as often as one likes


def test_a_successor_of_an_unsubscribed_function_inherits_nothing(
    db: firestore.Client, eventarc: EventarcServer
) -> None:
    eventarc.subscribe(Subscription("late", "http://127.0.0.1:9", "runs/{id}"))
    write(db, 1)
    assert eventually(lambda: len(eventarc.state.pending) == 1)
    eventarc.unsubscribe("late")
    receiver = Receiver()
    eventarc.subscribe(Subscription("late", receiver.url, "runs/{id}"))
    write(db, 2)
    assert eventarc.settled(5)
    receiver.stop()
    assert receiver.values == [2]


def test_an_event_under_way_to_an_unsubscribed_function_harms_nobody(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    going = function(slow=0.2, script=[500])
    write(db, 1)
    assert eventually(lambda: going.most_at_once == 1)
    eventarc.unsubscribe("function-1")
    assert eventually(lambda: len(eventarc.faults.history.of("event", service="eventarc")) == 1)
    assert eventarc.settled(5)
    assert (eventarc.state.pending, eventarc.state.delivered) == ((), 0)


def test_a_commit_that_cannot_be_routed_is_told_and_the_next_one_goes_on(
    db: firestore.Client, store: FirestoreServer
) -> None:
    said: list[str] = []
    eventarc = EventarcServer(store, faults=Faults(), tell=said.append).start()
    receiver = Receiver()
    eventarc.subscribe(Subscription("f", receiver.url, "runs/{id}"))
    broken = Subscription("broken", receiver.url, None)  # type: ignore[arg-type]  # a mistake, found late
    eventarc.subscribe(broken)
    write(db, 1)
    assert eventarc.settled(5)
    assert any("the events of change" in line and "AttributeError" in line for line in said)
    eventarc.subscribe(replace(broken, pattern="other/{id}"))
    write(db, 2)
    assert eventarc.settled(5)
    eventarc.stop()
    receiver.stop()
    assert receiver.values == [2]


def test_after_a_day_it_is_a_dead_letter(db: firestore.Client, eventarc: EventarcServer, store: object) -> None:
    hasty = EventarcServer(eventarc._firestore, faults=Faults(), time_scale=200_000).start()
    hasty.subscribe(Subscription("gone", "http://127.0.0.1:9", "runs/{id}"))
    write(db, 1)
    assert hasty.settled(5)
    (letter,) = hasty.state.dead_letters
    hasty.stop()
    assert letter.event.document == "runs/r1"
    assert "Connection" in letter.reason
    assert hasty.state.pending == ()


def test_an_event_beyond_the_limit_is_a_dead_letter(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    told = function()
    db.document("runs/big").set({"text": "x" * 600_000})
    assert eventually(lambda: len(eventarc.state.dead_letters) == 1)
    assert not told.received


def test_no_more_at_once_than_the_function_takes(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    several, single = function(concurrency=3, slow=0.02), function(concurrency=1, slow=0.002)
    write(db, *range(12))
    assert eventarc.settled(5)
    assert several.most_at_once == 3
    assert single.most_at_once == 1


def test_a_slow_function_does_not_hold_up_another(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    slow, quick = function(concurrency=1, slow=0.3), function()
    write(db, 1, 2, 3)
    assert eventually(lambda: len(quick.received) == 3, 0.5)
    assert len(slow.received) <= 2


def test_the_wait_grows_from_ten_seconds_to_ten_minutes_for_a_day() -> None:
    chance = random.Random(1)
    waits = [next_delay(attempts, 0.0, chance) for attempts in range(1, 200)]
    assert all(wait is not None and SHORTEST <= wait <= LONGEST for wait in waits)
    assert max(filter(None, waits[:2])) <= 4 * SHORTEST
    assert next_delay(5, KEPT_FOR - 1, chance) is None


# --- weather ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "copies"), [("duplicate", 2), ("triplicate", 3)])
def test_a_repeated_event_arrives_twice_or_three_times(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe, name: str, copies: int
) -> None:
    told = function()
    repeated = eventarc.faults.add(service="eventarc", method="function-1", action=shape(name))
    write(db, 1, 2)
    assert eventarc.settled(5)
    assert sorted(told.values) == [1] * copies + [2] * copies
    assert repeated.fired == 2
    assert eventarc.state.delivered == 2


def test_a_reordered_event_is_overtaken(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function(concurrency=1)
    late = eventarc.faults.add(service="eventarc", resource="runs/r1", action=shape("reorder", 5), times=1)
    write(db, 1, 2)
    assert eventarc.settled(3)
    assert told.values == [2, 1]
    assert late.fired == 1


def test_a_reordered_event_without_successors_comes_in_the_end(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    told = function()
    eventarc.faults.add(service="eventarc", action=shape("reorder", 0.05))
    write(db, 1)
    assert eventarc.settled(5)
    assert told.values == [1]


def test_a_delayed_event_lets_others_pass(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function(concurrency=1)
    eventarc.faults.add(service="eventarc", resource="runs/r1", action=shape("delay", 0.2))
    write(db, 1, 2, 3)
    assert eventarc.settled(5)
    assert told.values[-1] == 1


def test_a_dropped_event_never_comes(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function()
    eventarc.faults.add(service="eventarc", resource="runs/r1", action=shape("drop"))
    write(db, 1, 2)
    assert eventarc.settled(5)
    assert told.values == [2]
    assert eventarc.state.dropped == 1


@pytest.mark.parametrize(
    ("action", "arrivals"), [(status(500), 1), (drop(), 1), (drop_after(), 2), (delay(0.01, status(503)), 1)]
)
def test_trouble_on_the_way_is_tried_again(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe, action: object, arrivals: int
) -> None:
    told = function()
    eventarc.faults.add(service="eventarc", action=action, times=1)  # type: ignore[arg-type]
    write(db, 1)
    assert eventarc.settled(5)
    assert len(told.received) == arrivals
    assert eventarc.faults.calls.count("eventarc", "function-1", "runs/r1") == 2


# --- the view ----------------------------------------------------------------------------------------------------


def test_the_state_is_readable_by_http(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    function()
    eventarc.subscribe(Subscription("gone", "http://127.0.0.1:9", "runs/{id}"))
    write(db, 1)
    assert eventually(lambda: eventarc.state.delivered == 1)
    view = requests.get(f"{eventarc.url}/__events", timeout=5).json()
    assert view["delivered"] == 1
    assert [(event["function"], event["document"]) for event in view["pending"]] == [("gone", "runs/r1")]
    assert requests.get(f"{eventarc.url}/__calls", timeout=5).json()["calls"]
    requests.delete(f"{eventarc.url}/__events", timeout=5)
    assert eventarc.settled(5)
    assert eventarc.state.pending == ()


def test_every_attempt_is_in_the_history(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    function(script=[500])
    write(db, 1)
    assert eventarc.settled(5)
    outcomes = [record.detail["outcome"] for record in eventarc.faults.history.of("event", service="eventarc")]
    assert outcomes == ["answered 500", "delivered"]
