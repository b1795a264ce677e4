"""A write says what it believes; when that is not so, nothing happens. When nothing changes, time stands still."""

import datetime as dt
import math
from itertools import pairwise
from typing import Any

import pytest
from google.api_core.exceptions import FailedPrecondition, InvalidArgument, NotFound
from google.cloud import firestore

from tests.emulator.firestore.client import fields_of, time_of

# --- preconditions -----------------------------------------------------------------------------------------


def test_update_with_the_newest_time_succeeds(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.update({"a": 2}, option=db.write_option(last_update_time=first.update_time))
    assert fields_of(doc) == {"a": 2}


def test_update_with_an_older_time_fails(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.update({"a": 2})
    with pytest.raises(FailedPrecondition):
        doc.update({"a": 3}, option=db.write_option(last_update_time=first.update_time))
    assert fields_of(doc) == {"a": 2}


def test_update_with_a_time_that_never_was_is_invalid(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    later = time_of(doc.create({"a": 1})) + dt.timedelta(microseconds=1)
    with pytest.raises(InvalidArgument):
        doc.update({"a": 3}, option=db.write_option(last_update_time=later))


def test_update_with_a_time_fails_when_the_document_is_gone(
    db: firestore.Client, doc: firestore.DocumentReference
) -> None:
    first = doc.create({"a": 1})
    doc.delete()
    with pytest.raises(FailedPrecondition):
        doc.update({"a": 3}, option=db.write_option(last_update_time=first.update_time))


def test_the_time_of_an_earlier_life_is_stale(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.delete()
    doc.create({"a": 1})
    with pytest.raises(FailedPrecondition):
        doc.update({"a": 3}, option=db.write_option(last_update_time=first.update_time))


def test_delete_with_the_newest_time_succeeds(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.delete(option=db.write_option(last_update_time=first.update_time))
    assert not doc.get().exists


def test_delete_with_an_older_time_fails(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.update({"a": 2})
    with pytest.raises(FailedPrecondition):
        doc.delete(option=db.write_option(last_update_time=first.update_time))
    assert doc.get().exists


def test_delete_that_wants_a_document_fails_without_one(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    with pytest.raises(NotFound):
        doc.delete(option=db.write_option(exists=True))


# --- time ----------------------------------------------------------------------------------------------------


def test_update_times_only_grow(doc: firestore.DocumentReference) -> None:
    times = [time_of(doc.set({"n": number})) for number in range(50)]
    assert all(a < b for a, b in pairwise(times))


def test_creation_time_stays(doc: firestore.DocumentReference) -> None:
    created = doc.create({"a": 1}).update_time
    doc.set({"a": 2})
    doc.update({"a": 3})
    assert doc.get().create_time == created


@pytest.mark.parametrize(
    "again",
    [
        lambda doc: doc.set({"a": 1, "m": {"x": math.nan}}),
        lambda doc: doc.set({"a": 1}, merge=True),
        lambda doc: doc.set({}, merge=True),
        lambda doc: doc.update({"m.x": math.nan}),
        lambda doc: doc.update({"gone": firestore.DELETE_FIELD}),
        lambda doc: doc.update({"a": firestore.Increment(0)}),
        lambda doc: doc.update({"a": firestore.Maximum(0)}),
    ],
    ids=["set", "merge", "empty merge", "update", "delete field", "increment by 0", "maximum"],
)
def test_a_write_that_changes_nothing_keeps_the_time(again: Any, doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1, "m": {"x": math.nan}})
    assert again(doc).update_time == first.update_time
    assert doc.get().update_time == first.update_time


def test_an_integer_that_becomes_a_double_is_a_change(doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    assert time_of(doc.set({"a": 1.0})) > time_of(first)
    assert isinstance(doc.get().get("a"), float)
