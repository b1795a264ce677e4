"""What a function is told, and of what."""

import datetime as dt

import pytest
from cloudevents.http import from_http
from google.cloud import firestore

from emulator.eventarc import EventarcServer, Kind, Subscription
from emulator.firestore.changes import Change
from emulator.firestore.server import FirestoreServer
from emulator.firestore.wire import Document
from tests.emulator.eventarc.conftest import Subscribe
from tests.emulator.firestore.client import connected


def test_a_created_document_arrives_whole(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function("runs/{id}", Kind.CREATED)
    db.document("runs/r1").set({"v": 7, "m": {"x": [1, None, "ä"]}, "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)})
    assert eventarc.settled(5)
    data = told.received[0].data
    assert data.value.name == "projects/p/databases/(default)/documents/runs/r1"
    assert data.value.fields["v"].integer_value == 7
    assert data.value.fields["m"].map_value.fields["x"].array_value.values[2].string_value == "ä"
    assert data.value.create_time == data.value.update_time
    assert "old_value" not in data
    assert "update_mask" not in data


def test_an_update_tells_old_and_new_and_what_differs(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    db.document("runs/r1").set({"v": 1, "same": 1})
    told = function("runs/{id}", Kind.UPDATED)
    db.document("runs/r1").update({"v": 2})
    assert eventarc.settled(5)
    data = told.received[0].data
    assert (data.old_value.fields["v"].integer_value, data.value.fields["v"].integer_value) == (1, 2)
    assert list(data.update_mask.field_paths) == ["v"]


def test_a_deletion_tells_what_was_there(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    db.document("runs/r1").set({"v": 1})
    told = function("runs/{id}", Kind.DELETED)
    db.document("runs/r1").delete()
    assert eventarc.settled(5)
    data = told.received[0].data
    assert data.old_value.fields["v"].integer_value == 1
    assert "value" not in data


def test_the_attributes_are_those_of_the_cloud(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    told = function("runs/{id}", Kind.WRITTEN)
    result = db.document("runs/r1").set({"v": 1})
    assert eventarc.settled(5)
    headers = told.received[0].headers
    event = from_http(dict(headers.items()), told.received[0].body)
    expected = {
        "specversion": "1.0",
        "type": "google.cloud.firestore.document.v1.written",
        "source": "//firestore.googleapis.com/projects/p/databases/(default)",
        "subject": "documents/runs/r1",
        "document": "runs/r1",
        "project": "p",
        "database": "(default)",
        "namespace": "(default)",
        "location": "nam5",
        "datacontenttype": "application/protobuf",
    }
    assert {name: event[name] for name in expected} == expected
    assert dt.datetime.fromisoformat(event["time"]) == result.update_time
    assert headers["content-type"] == "application/protobuf"
    assert isinstance(event.data, bytes)


def test_each_kind_of_change_reaches_who_asked_for_it(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    told = {kind: function("runs/{id}", kind) for kind in Kind}
    document = db.document("runs/r1")
    document.create({"v": 1})
    document.update({"v": 2})
    document.update({"v": 2})  # changes nothing, so nobody hears of it
    document.delete()
    assert eventarc.settled(5)
    assert {kind: len(function.received) for kind, function in told.items()} == {
        Kind.CREATED: 1,
        Kind.UPDATED: 1,
        Kind.DELETED: 1,
        Kind.WRITTEN: 3,
    }
    assert len({event.id for function in told.values() for event in function.received}) == 6


def test_every_document_of_a_batch_is_told(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function()
    batch = db.batch()
    for number in range(20):
        batch.set(db.document(f"runs/r{number}"), {"v": number})
    batch.commit()
    assert eventarc.settled(5)
    assert sorted(told.values) == list(range(20))


def test_an_odd_name_travels_in_ascii(db: firestore.Client, eventarc: EventarcServer, function: Subscribe) -> None:
    told = function()
    db.document('runs/grün 100% "x"').set({"v": 1})
    assert eventarc.settled(5)
    assert told.received[0].document == "runs/gr%C3%BCn%20100%25%20%22x%22"
    assert told.received[0].data.value.name.endswith('/grün 100% "x"')


def test_other_databases_are_told_to_others(
    store: FirestoreServer, eventarc: EventarcServer, function: Subscribe
) -> None:
    default, second = function(), function(database="second")
    with connected(store.host, "p", "second") as db:
        db.document("runs/r1").set({"v": 1})
    assert eventarc.settled(5)
    assert (default.values, second.values) == ([], [1])


@pytest.mark.parametrize(
    ("pattern", "document", "fits"),
    [
        ("runs/{id}", "runs/a", True),
        ("runs/{id}", "runs/a/steps/b", False),
        ("runs/{id}", "other/a", False),
        ("runs/a", "runs/a", True),
        ("runs/a", "runs/ab", False),
        ("runs/{id}/steps/{step}", "runs/a/steps/b", True),
        ("{collection}/{id}", "runs/a", True),
        ("runs/{rest=**}", "runs/a/steps/b", True),
        ("runs/**", "runs/a", True),
        ("runs/*", "runs/a", True),
        ("runs/{id=a*}", "runs/abc", True),
        ("runs/{id=a*}", "runs/bcd", False),
        ("runs/{id}", "runs/a.b", True),
        ("runs/a.b", "runs/aXb", False),
    ],
)
def test_a_pattern_fits_documents(pattern: str, document: str, fits: bool) -> None:
    name = f"projects/p/databases/(default)/documents/{document}"
    change = Change(1, 1, name, None, Document(name=name))
    assert Subscription("f", "http://f", pattern).wants(change) is fits
