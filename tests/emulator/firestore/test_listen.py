"""Whoever listens hears of every change, and in the end sees what is there."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import firestore

from tests.emulator.firestore.client import fill, where

News = list[tuple[str, str]]


class Ear:
    """Listens to a document or a query, and remembers."""

    def __init__(self) -> None:
        self.heard: News = []
        self.seen: list[dict[str, Any]] = []
        self._news = threading.Condition()

    def __call__(self, snapshots: list[Any], changes: list[Any], _: Any) -> None:
        with self._news:
            self.heard += [(change.type.name, change.document.id) for change in changes]
            self.seen.append({snapshot.id: snapshot.to_dict() for snapshot in snapshots if snapshot.exists})
            self._news.notify_all()

    def waits_for(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The newest picture that fulfils the condition."""
        with self._news:
            assert self._news.wait_for(lambda: bool(self.seen) and condition(self.seen[-1]), 10), self.seen
            return self.seen[-1]

    def stays_silent(self) -> bool:
        with self._news:
            return not self._news.wait(0.3)


Listen = Callable[[Any], Ear]


@pytest.fixture
def listen() -> Iterator[Listen]:
    watches: list[Any] = []

    def start(target: Any) -> Ear:
        ear = Ear()
        watches.append(target.on_snapshot(ear))
        return ear

    yield start
    for watch in watches:
        watch.unsubscribe()


def test_a_document_is_heard_of_from_its_creation_to_its_end(db: firestore.Client, listen: Listen) -> None:
    doc = db.document("runs/r1")
    ear = listen(doc)
    ear.waits_for(lambda seen: seen == {})
    doc.set({"n": 1})
    ear.waits_for(lambda seen: seen == {"r1": {"n": 1}})
    doc.update({"n": 2})
    ear.waits_for(lambda seen: seen == {"r1": {"n": 2}})
    doc.delete()
    ear.waits_for(lambda seen: seen == {})


def test_a_document_that_is_there_is_shown_first(db: firestore.Client, listen: Listen) -> None:
    db.document("runs/r1").set({"n": 1})
    assert listen(db.document("runs/r1")).waits_for(bool) == {"r1": {"n": 1}}


def test_other_documents_are_not_heard_of(db: firestore.Client, listen: Listen) -> None:
    db.document("runs/r1").set({"n": 1})
    ear = listen(db.document("runs/r1"))
    ear.waits_for(bool)
    db.document("runs/r2").set({"n": 1})
    assert ear.stays_silent()


def test_a_query_tells_who_came_changed_and_left(db: firestore.Client, listen: Listen) -> None:
    runs = fill(db, "runs", a=1, b=5)
    ear = listen(runs.where(filter=where("v", ">", 2)))
    ear.waits_for(lambda seen: set(seen) == {"b"})
    runs.document("c").set({"v": 3})
    ear.waits_for(lambda seen: set(seen) == {"b", "c"})
    runs.document("b").set({"v": 6})
    ear.waits_for(lambda seen: seen.get("b") == {"v": 6})
    runs.document("c").set({"v": 0})
    ear.waits_for(lambda seen: set(seen) == {"b"})
    runs.document("b").delete()
    ear.waits_for(lambda seen: seen == {})
    assert ear.heard == [("ADDED", "b"), ("ADDED", "c"), ("MODIFIED", "b"), ("REMOVED", "c"), ("REMOVED", "b")]


def test_a_query_in_order(db: firestore.Client, listen: Listen) -> None:
    runs = fill(db, "runs", a=3, b=1)
    ear = listen(runs.order_by("v"))
    assert list(ear.waits_for(lambda seen: len(seen) == 2)) == ["b", "a"]
    runs.document("c").set({"v": 2})
    assert list(ear.waits_for(lambda seen: len(seen) == 3)) == ["b", "c", "a"]


def test_a_limited_query_lets_the_next_one_move_up(db: firestore.Client, listen: Listen) -> None:
    runs = fill(db, "runs", a=1, b=2, c=3)
    ear = listen(runs.order_by("v").limit(2))
    ear.waits_for(lambda seen: set(seen) == {"a", "b"})
    runs.document("a").delete()
    ear.waits_for(lambda seen: set(seen) == {"b", "c"})
    runs.document("d").set({"v": 0})
    ear.waits_for(lambda seen: set(seen) == {"b", "d"})


def test_a_group_is_heard_of(db: firestore.Client, listen: Listen) -> None:
    ear = listen(db.collection_group("steps"))
    db.document("runs/r1/steps/s1").set({"v": 1})
    db.document("runs/r2/steps/s2").set({"v": 2})
    db.document("runs/r2/other/s3").set({"v": 3})
    ear.waits_for(lambda seen: set(seen) == {"s1", "s2"})


def test_a_batch_is_heard_of_at_once(db: firestore.Client, listen: Listen) -> None:
    ear = listen(db.collection("runs"))
    ear.waits_for(lambda seen: seen == {})
    fill(db, "runs", a=1, b=2, c=3)
    ear.waits_for(lambda seen: len(seen) == 3)
    assert {len(seen) for seen in ear.seen} == {0, 3}


def test_a_write_that_changes_nothing_is_not_heard_of(db: firestore.Client, listen: Listen) -> None:
    fill(db, "runs", a=1)
    ear = listen(db.collection("runs"))
    ear.waits_for(bool)
    db.document("runs/a").set({"v": 1})
    assert ear.stays_silent()


def test_nothing_is_missed_while_others_write(ours: firestore.Client, listen: Listen) -> None:
    """The first picture and the news after it fit together, whatever happens in between."""
    runs = ours.collection("runs")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            runs.document(f"d{number % 20}").set({"n": number})
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    ears = [listen(runs) for _ in range(5)]
    time.sleep(0.5)
    stop.set()
    writer.join()
    there = {found.id: found.to_dict() for found in runs.stream()}
    for ear in ears:
        ear.waits_for(lambda seen: seen == there)


def test_many_can_listen(ours: firestore.Client, listen: Listen) -> None:
    ears = [listen(ours.document("runs/r1")) for _ in range(40)]
    ours.document("runs/r1").set({"n": 1})
    for ear in ears:
        ear.waits_for(lambda seen: seen == {"r1": {"n": 1}})


def test_who_stops_listening_hears_no_more(ours: firestore.Client) -> None:
    ear = Ear()
    watch: Any = ours.collection("runs").on_snapshot(ear)
    ear.waits_for(lambda seen: seen == {})
    watch.unsubscribe()
    ours.document("runs/r1").set({"n": 1})
    assert ear.stays_silent()
