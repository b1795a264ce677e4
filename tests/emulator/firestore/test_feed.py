"""The change feed: every change once, in the order of the commits, old and new."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from google.cloud import firestore

from emulator.firestore.changes import Change, Commit, Feed, TooOld
from emulator.firestore.server import FirestoreServer
from tests.emulator.firestore.client import at_once, fill


@pytest.fixture
def heard(server: FirestoreServer, ours: firestore.Client) -> Iterator[list[Change]]:
    """The changes of the test's own database."""
    changes: list[Change] = []

    def note(commit: Commit) -> None:
        if commit.database == ours._database_string:
            changes.extend(commit.changes)

    stop = server.subscribe(note)
    yield changes
    stop()


def told(change: Change) -> tuple[str, int | None, int | None]:
    before, after = (side.fields["v"].integer_value if side else None for side in (change.before, change.after))
    return change.name.rpartition("/")[2], before, after


def test_a_document_has_a_life(ours: firestore.Client, heard: list[Change]) -> None:
    doc = ours.document("runs/r")
    doc.create({"v": 1})
    doc.update({"v": 2})
    doc.delete()
    assert [told(change) for change in heard] == [("r", None, 1), ("r", 1, 2), ("r", 2, None)]


def test_what_changes_nothing_is_not_news(ours: firestore.Client, heard: list[Change]) -> None:
    fill(ours, "runs", r=1)
    fill(ours, "runs", r=1)
    ours.document("runs/none").delete()
    assert [told(change) for change in heard] == [("r", None, 1)]


def test_the_writer_hears_last(ours: firestore.Client, heard: list[Change]) -> None:
    for number in range(20):
        ours.document("runs/r").set({"v": number})
        assert told(heard[-1])[2] == number


def test_a_batch_is_one_commit(ours: firestore.Client, heard: list[Change]) -> None:
    fill(ours, "runs", a=1, b=2)
    assert len({change.time for change in heard}) == 1
    assert [told(change) for change in heard] == [("a", None, 1), ("b", None, 2)]


def test_a_document_written_twice_in_a_batch_changes_once(ours: firestore.Client, heard: list[Change]) -> None:
    batch = ours.batch()
    batch.set(ours.document("runs/r"), {"v": 1})
    batch.update(ours.document("runs/r"), {"v": firestore.Increment(1)})
    batch.commit()
    assert [told(change) for change in heard] == [("r", None, 2)]


def test_sequence_and_time_grow_however_many_write(ours: firestore.Client, heard: list[Change]) -> None:
    def write() -> None:
        for _ in range(20):
            ours.document("runs/r").set({"v": firestore.Increment(1)}, merge=True)

    at_once(*[write] * 8)
    assert [told(change)[2] for change in heard] == list(range(1, 161))
    assert all(a.sequence < b.sequence and a.time < b.time for a, b in pairwise(heard))
    assert all(a.after is b.before for a, b in pairwise(heard))


def test_the_mask_names_the_fields_that_differ(ours: firestore.Client, heard: list[Change]) -> None:
    doc = ours.document("runs/r")
    doc.set({"a": 1, "m": {"x": 1, "y": {"z": 1}, "odd name": 1}, "l": [1], "gone": 1})
    doc.set({"a": 1, "m": {"x": 2, "y": {"z": 2}, "odd name": 2}, "l": [2], "new": {"b": 1}})
    assert heard[0].mask == []
    assert heard[1].mask == ["gone", "l", "m.`odd name`", "m.x", "m.y.z", "new"]


# --- where to go on ------------------------------------------------------------------------------------------


def a_commit(sequence: int) -> Commit:
    return Commit("db", sequence * 10, (Change(sequence, sequence * 10, f"db/documents/a/d{sequence}", None, None),))


def test_a_subscriber_goes_on_where_it_stopped() -> None:
    feed, seen = Feed(), list[int]()
    for sequence in (1, 2, 3):
        feed.publish(a_commit(sequence))
    stop = feed.subscribe(lambda commit: seen.append(commit.last_sequence), after=1)
    feed.publish(a_commit(4))
    stop()
    feed.publish(a_commit(5))
    assert seen == [2, 3, 4]


def test_a_subscriber_that_comes_too_late_is_told() -> None:
    feed = Feed(kept_commits=2)
    for sequence in (1, 2, 3):
        feed.publish(a_commit(sequence))
    assert [commit.last_sequence for commit in feed.since(1)] == [2, 3]
    with pytest.raises(TooOld, match="changes 1 to 1"):
        feed.subscribe(lambda _: None, after=0)
