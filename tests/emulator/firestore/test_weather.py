"""Every fault, provoked through the unmodified library: the exception that it becomes, and what it leaves behind."""

import threading
import time
from typing import Any

import pytest
from google.api_core.exceptions import (
    Aborted,
    DeadlineExceeded,
    GoogleAPICallError,
    InternalServerError,
    ResourceExhausted,
    RetryError,
    ServiceUnavailable,
)
from google.api_core.retry import Retry
from google.cloud import firestore
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]

from emulator.faults import Fault, Faults, delay, drop, drop_after, hang, refuse, status
from emulator.firestore.server import FirestoreServer
from emulator.history import History
from tests.emulator.firestore.client import connected, fields_of

ONCE: Any = None  # no retry by the library


@pytest.fixture
def doc(ours: firestore.Client) -> firestore.DocumentReference:
    return ours.document("runs/r1")


@pytest.mark.parametrize(
    ("action", "becomes"),
    [
        (status(429), ResourceExhausted),
        (status(500), InternalServerError),
        (status(503), ServiceUnavailable),
        (status(504), DeadlineExceeded),
        (status("ABORTED"), Aborted),
        (drop(), ServiceUnavailable),
        (refuse(), ServiceUnavailable),
    ],
    ids=["429", "500", "503", "504", "ABORTED", "drop", "refuse"],
)
def test_a_fault_before_the_effect(
    action: Fault, becomes: type[GoogleAPICallError], doc: firestore.DocumentReference, faults: Faults
) -> None:
    planned = faults.add(service="firestore", method="Commit", resource="runs/*", action=action, times=1)
    with pytest.raises(becomes):
        doc.create({"n": 1}, retry=ONCE)
    assert planned.fired == 1
    assert not doc.get().exists


@pytest.mark.parametrize("action", [drop_after(), status(503, applied=True)], ids=["drop", "503"])
def test_a_lost_reply_leaves_its_effect(action: Fault, doc: firestore.DocumentReference, faults: Faults) -> None:
    planned = faults.add(service="firestore", method="Commit", action=action, times=1)
    with pytest.raises(ServiceUnavailable):
        doc.create({"n": 1}, retry=ONCE)
    assert planned.fired == 1
    assert fields_of(doc) == {"n": 1}


def test_a_lost_reply_comes_back_as_a_failed_precondition(doc: firestore.DocumentReference, faults: Faults) -> None:
    """The library tries again by itself, and then its own write is in its way."""
    faults.add(service="firestore", method="Commit", action=drop_after(), times=1)
    with pytest.raises(GoogleAPICallError) as raised:
        doc.create({"n": 1})
    assert raised.value.code == 409
    assert faults.calls.count("firestore", "Commit", "runs/r1") == 2


def test_the_library_outlasts_a_few_failures(doc: firestore.DocumentReference, faults: Faults) -> None:
    planned = faults.add(service="firestore", method="Commit", action=status(503), times=2)
    doc.set({"n": 1})
    assert planned.fired == 2


def test_a_refusal_can_say_when_to_come_back(doc: firestore.DocumentReference, faults: Faults) -> None:
    faults.add(service="firestore", action=status(429, retry_after=17.5))
    with pytest.raises(ResourceExhausted) as raised:
        doc.set({"n": 1}, retry=ONCE)
    [info] = [detail for detail in raised.value.details if isinstance(detail, RetryInfo)]
    assert info.retry_delay.ToMilliseconds() == 17500


def test_a_slow_reply_is_a_reply(doc: firestore.DocumentReference, faults: Faults) -> None:
    faults.add(service="firestore", method="Commit", action=delay(0.3))
    started = time.monotonic()
    doc.set({"n": 1})
    assert time.monotonic() - started >= 0.3


def test_silence_ends_with_the_callers_patience(doc: firestore.DocumentReference, faults: Faults) -> None:
    faults.add(service="firestore", method="Commit", action=hang(30))
    with pytest.raises(DeadlineExceeded):
        doc.set({"n": 1}, retry=ONCE, timeout=0.3)
    faults.clear()
    assert not doc.get().exists


def test_reads_have_weather_too(doc: firestore.DocumentReference, ours: firestore.Client, faults: Faults) -> None:
    impatient = Retry(predicate=lambda _: False)
    faults.add(service="firestore", method="BatchGetDocuments", resource="runs/r1", action=status(503), times=1)
    faults.add(service="firestore", method="RunQuery", resource="runs", action=status(500), times=1)
    with pytest.raises(ServiceUnavailable):
        doc.get(retry=impatient)
    with pytest.raises(InternalServerError):
        list(ours.collection("runs").stream(retry=impatient))


def test_a_fault_finds_its_document_wherever_it_stands_in_a_batch(ours: firestore.Client, faults: Faults) -> None:
    planned = faults.add(service="firestore", resource="*runs/r11", action=status(503))
    batch = ours.batch()
    for number in range(12):
        batch.set(ours.document(f"runs/r{number}"), {"n": number})
    with pytest.raises(ServiceUnavailable):
        batch.commit(retry=ONCE)
    with pytest.raises(ServiceUnavailable):
        list(ours.get_all([ours.document(f"runs/r{number}") for number in range(12)], retry=ONCE))
    assert planned.fired == 2


def test_a_listener_comes_back_after_a_drop(doc: firestore.DocumentReference, faults: Faults) -> None:
    planned = faults.add(service="firestore", method="Listen", action=drop(), times=1)
    heard = threading.Event()
    watch: Any = doc.on_snapshot(lambda *_: heard.set())
    assert heard.wait(10)
    assert planned.fired == 1
    watch.unsubscribe()


# --- the pace of one document --------------------------------------------------------------------------------


def test_one_document_cannot_be_written_all_the_time(
    ours: firestore.Client, doc: firestore.DocumentReference, faults: Faults
) -> None:
    limit = faults.limit_writes(1, burst=2, resource="runs/*")
    for number in range(2):
        doc.set({"n": number}, retry=ONCE)
    with pytest.raises(ResourceExhausted):
        doc.set({"n": 2}, retry=ONCE)
    assert fields_of(doc) == {"n": 1}
    assert limit.fired == 1
    ours.document("runs/r2").set({"n": 0}, retry=ONCE)
    ours.document("free/d").set({"n": 0}, retry=ONCE)


def test_the_library_waits_until_it_may(doc: firestore.DocumentReference, faults: Faults) -> None:
    faults.limit_writes(5, burst=1)
    started = time.monotonic()
    for number in range(4):
        doc.set({"n": number})
    assert time.monotonic() - started >= 0.5


def test_impatience_ends_too(doc: firestore.DocumentReference, faults: Faults) -> None:
    faults.add(service="firestore", method="Commit", action=status(429))
    brief = Retry(predicate=lambda error: isinstance(error, ResourceExhausted), initial=0.01, timeout=0.2)
    with pytest.raises(RetryError):
        doc.set({"n": 1}, retry=brief)


# --- what is remembered --------------------------------------------------------------------------------------


def test_calls_are_counted_by_method_and_resource(
    ours: firestore.Client, doc: firestore.DocumentReference, faults: Faults
) -> None:
    doc.set({"n": 1})
    doc.set({"n": 2})
    doc.get()
    list(ours.collection("runs").stream())
    list(doc.collection("steps").stream())
    assert [(call.method, call.resource, times) for call, times in faults.calls.items()] == [
        ("BatchGetDocuments", "runs/r1", 1),
        ("Commit", "runs/r1", 2),
        ("RunQuery", "runs", 1),
        ("RunQuery", "runs/r1/steps", 1),
    ]


def test_of_large_documents_the_history_keeps_the_newest() -> None:
    history = History(most_bytes=1_000_000)
    server = FirestoreServer(faults=Faults(history)).start()
    with connected(server.host, "large") as db:
        for number in range(5):
            db.document("runs/r1").set({"n": number, "filling": "x" * 400_000})
    server.stop()
    assert [record.detail["after"]["n"] for record in history.of("write")] == [4]
    assert history.since().dropped == 8, "four calls and what they wrote"


def test_every_write_is_in_the_history(
    server: FirestoreServer, doc: firestore.DocumentReference, faults: Faults
) -> None:
    seen = faults.history.since().next
    doc.set({"n": 1})
    doc.set({"n": 1})
    doc.update({"n": 2})
    doc.delete()
    written = [record for record in faults.history.since(seen).records if record.kind == "write"]
    assert [(record.method, record.resource) for record in written] == [
        ("create", "runs/r1"),
        ("update", "runs/r1"),
        ("delete", "runs/r1"),
    ]
    update = written[1].detail
    assert (update["before"], update["after"]) == ({"n": 1}, {"n": 2})
