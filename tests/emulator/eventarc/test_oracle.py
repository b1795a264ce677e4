"""The same writes, told by the official emulator and by ours: what differs stands in DIFFERENCES.md."""

import base64
import datetime as dt
import json
from typing import Any

import pytest
from google.cloud import firestore
from google.events.cloud.firestore import Document, DocumentEventData

from emulator.eventarc import EventarcServer
from tests.emulator.eventarc.conftest import Subscribe
from tests.emulator.eventarc.oracle import official_with_events
from tests.emulator.eventarc.receiver import Receiver, eventually
from tests.emulator.firestore.client import connected
from tests.emulator.firestore.oracle import why_absent

EVENTS = 4
DOCUMENT: dict[str, Any] = {
    "null": None,
    "yes": True,
    "whole": -(2**60),
    "real": 0.1,
    "text": "grün",
    "raw": b"\x00\xff",
    "at": dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=dt.UTC),
    "where": firestore.GeoPoint(1.5, -2.5),
    "list": [1, "two", {"three": [3]}],
    "map": {"inner": {"odd name": 1}, "empty": {}},
    "nothing": [],
}


def live(db: firestore.Client) -> None:
    document = db.document("runs/r1")
    document.create({**DOCUMENT, "other": db.document("runs/r2")})
    document.update({"map.inner.`odd name`": 2, "real": firestore.DELETE_FIELD})
    document.set({"list": firestore.ArrayUnion(["two", 4])}, merge=True)
    document.delete()


def told(document: Document) -> Any:
    """A document without the times, which are nobody's to choose."""
    plain: dict[str, Any] = Document.to_dict(document)
    return {name: value for name, value in plain.items() if not name.endswith("_time")}


def payloads(bodies: list[bytes]) -> list[str]:
    """Old and new of each event, sorted, because events come in any order."""
    events = [DocumentEventData.deserialize(body) for body in bodies]
    return sorted(json.dumps([told(data.old_value), told(data.value)], sort_keys=True) for data in events)


def attributes(receiver: Receiver) -> set[str]:
    return {name.lower() for name in receiver.received[0].headers if name.lower().startswith("ce-")}


@pytest.mark.skipif(why_absent() is not None, reason=why_absent() or "")
def test_payloads_are_those_of_the_official_emulator(
    db: firestore.Client, eventarc: EventarcServer, function: Subscribe
) -> None:
    ours, theirs = function(), Receiver()
    live(db)
    assert eventarc.settled(5)
    with official_with_events(theirs, "p") as host, connected(host, "p") as other:
        live(other)
        assert eventually(lambda: len(theirs.received) == EVENTS, 20)
    theirs.stop()
    assert len(ours.received) == EVENTS
    expected = payloads([base64.b64decode(event.body) for event in theirs.received])
    assert payloads([event.body for event in ours.received]) == expected
    assert attributes(ours) == attributes(theirs)
