"""What an event brings along is what a read would have brought, so that it can stand in for one."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from google.cloud import firestore
from hypothesis import given
from hypothesis import strategies as st

from emulator.eventarc import Subscription
from emulator.eventarc.events import event_of
from emulator.firestore.changes import Change, Commit
from emulator.platform import Platform
from flowcore.adapters.firestore import FirestoreRuns
from flowcore.adapters.firestore_events import decode
from tests.ports.conftest import COLLECTION

SUBSCRIPTION = Subscription("any", "http://127.0.0.1/", "**")
DOCUMENT: dict[str, object] = {
    "text": "ünï",
    "none": None,
    "yes": True,
    "int": -(2**63),
    "float": 2.5,
    "bytes": b"\x00\xff",
    "moment": datetime(2025, 12, 24, 12, 0, 0, 123456, tzinfo=UTC),
    "list": [1, {"a": [], "b": None}],
    "map": {"with.dot": {"deep": {}}},
    "steps": {"mit Leerzeichen": {"status": "READY"}},
}


@pytest.fixture
def changes(platform: Platform) -> Iterator[list[Change]]:
    heard: list[Change] = []

    def hear(commit: Commit) -> None:
        heard.extend(commit.changes)

    stop = platform.firestore.subscribe(hear)
    yield heard
    stop()


def body(change: Change) -> bytes:
    return event_of(change, SUBSCRIPTION, "nam5").body


def test_an_event_tells_what_a_read_would(
    changes: list[Change], database: firestore.Client, wire_runs: FirestoreRuns
) -> None:
    database.document(COLLECTION, "r1").set(DOCUMENT)
    assert decode("r1", body(changes[0])) == wire_runs.get("r1")
    database.document(COLLECTION, "r1").update({"steps.added": 1})
    assert decode("r1", body(changes[1])) == wire_runs.get("r1")


def test_places_are_told_in_plain_words(changes: list[Change], database: firestore.Client) -> None:
    """Nothing of ours reads them; a document that holds some must still be read."""
    database.document(COLLECTION, "r1").set(
        {"where": firestore.GeoPoint(1.5, 2.5), "who": database.document("people/p1"), "odd": [float("inf")]}
    )
    snapshot = decode("r1", body(changes[0]))
    assert snapshot is not None
    assert snapshot.document["where"] == {"latitude": 1.5, "longitude": 2.5}
    assert str(snapshot.document["who"]).endswith("/people/p1")
    assert snapshot.document["odd"] == [float("inf")]


def test_an_event_of_a_deletion_tells_nothing(changes: list[Change], database: firestore.Client) -> None:
    database.document(COLLECTION, "r1").set({"n": 1})
    database.document(COLLECTION, "r1").delete()
    assert decode("r1", body(changes[1])) is None


def test_an_event_of_another_document_tells_nothing(changes: list[Change], database: firestore.Client) -> None:
    database.document(COLLECTION, "r1").set({"n": 1})
    assert decode("r2", body(changes[0])) is None


@pytest.mark.parametrize("data", [None, b"", "text", {"value": {}}, 7], ids=repr)
def test_what_is_no_payload_tells_nothing(data: object) -> None:
    assert decode("r1", data) is None


@given(st.binary(max_size=200))
def test_no_payload_is_ever_an_error(data: bytes) -> None:
    assert decode("r1", data) is None
