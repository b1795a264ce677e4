"""With the official emulator as the store, functions are told what ours would tell them."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from google.cloud import firestore
from google.events.cloud.firestore import Document

from emulator.eventarc import Subscription
from emulator.faults import status
from emulator.platform import Firestore, Platform, PlatformFailed
from tests.emulator.eventarc.receiver import Received, Receiver, eventually
from tests.emulator.firestore.client import connected
from tests.emulator.firestore.oracle import why_absent
from tests.emulator.platform.toy_function import Writer, toy

EVENTS = 5  # four of `live`, one of `unchanged`
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


def payload(event: Received) -> str:
    """All of it but the times, in a form that can be sorted."""
    data = event.data
    return json.dumps([told(data.old_value), told(data.value), list(data.update_mask.field_paths)], sort_keys=True)


def attributes(event: Received) -> dict[str, str]:
    own = {"ce-id", "ce-time"}
    return {name: value for name, value in event.headers.items() if name.startswith("ce-") and name not in own}


def written(platform: Platform) -> list[Received]:
    """What a function is told of a document's life, after one attempt that failed."""
    receiver = Receiver(script=[500])
    platform.eventarc.subscribe(Subscription("told", receiver.url, "runs/{id}", project=platform.project))
    with connected(platform.firestore.host, platform.project) as db:
        unchanged(db)
        live(db)
        assert eventually(lambda: len(receiver.received) == 1 + EVENTS, 20)
    receiver.stop()
    return receiver.received[1:]


def unchanged(db: firestore.Client) -> None:
    """Written twice, changed once."""
    for _ in range(2):
        db.document("runs/r3").set({"v": 1})


@pytest.mark.skipif(why_absent() is not None, reason=why_absent() or "")
def test_a_write_becomes_the_same_event(tmp_path: Path) -> None:
    with Platform(time_scale=1000) as ours:
        expected = written(ours)
    writer, seen = Writer(), tmp_path / "seen"
    with Platform(firestore=Firestore.OFFICIAL, functions=[toy(seen)], time_scale=1000) as platform:
        with connected(platform.firestore.host, platform.project) as db:
            writer.write(db, 20)
            assert eventually(lambda: not writer.missing(seen), 20)
            assert len(platform.faults.history.of("write")) == 20
            platform.reset()
            assert not db.document("runs/r1").get().exists
            lost = platform.faults.add(service="eventarc", method="told", action=status(503), times=2)
            found = written(platform)
        assert lost.fired == 2
    assert sorted(map(payload, found)) == sorted(map(payload, expected))
    assert sorted(map(str, map(attributes, found))) == sorted(map(str, map(attributes, expected)))


def test_without_gcloud_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlatformFailed, match="needs gcloud"):
        Platform(firestore=Firestore.OFFICIAL).start()


def test_it_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(PlatformFailed, match="keeps nothing"):
        Platform(firestore=Firestore.OFFICIAL, data_dir=tmp_path).start()
