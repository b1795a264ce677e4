"""What a write leaves behind, and when it is refused."""

import datetime as dt
import math
from itertools import pairwise
from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.vector import Vector

from tests.emulator.firestore.client import commit, fields_of, time_of, written

NOON = dt.datetime(2026, 5, 4, 12, 0, 0, 123456, dt.UTC)


@pytest.fixture
def doc(db: firestore.Client) -> firestore.DocumentReference:
    """A document that is not there yet."""
    return db.document("runs/r1")


# --- create, set, update, delete ---------------------------------------------------------------------------


def test_a_created_document_can_be_read(doc: firestore.DocumentReference) -> None:
    result = doc.create({"a": 1})
    snapshot = doc.get()
    assert snapshot.to_dict() == {"a": 1}
    assert snapshot.create_time == snapshot.update_time == result.update_time


def test_a_document_is_created_once(doc: firestore.DocumentReference) -> None:
    doc.create({"a": 1})
    with pytest.raises(AlreadyExists):
        doc.create({"a": 2})
    assert fields_of(doc) == {"a": 1}


def test_a_deleted_document_can_be_created_again(doc: firestore.DocumentReference) -> None:
    first = doc.create({"a": 1})
    doc.delete()
    second = doc.create({"a": 1})
    assert time_of(second) > time_of(first)
    assert doc.get().create_time == second.update_time


def test_set_replaces_everything(doc: firestore.DocumentReference) -> None:
    doc.set({"a": 1, "b": 2})
    doc.set({"c": 3})
    assert fields_of(doc) == {"c": 3}


def test_set_with_merge_keeps_the_rest(doc: firestore.DocumentReference) -> None:
    doc.set({"a": 1, "m": {"x": 1, "y": 2}})
    doc.set({"b": 2, "m": {"y": 3}}, merge=True)
    assert fields_of(doc) == {"a": 1, "b": 2, "m": {"x": 1, "y": 3}}


def test_merge_does_not_take_dots_for_paths(doc: firestore.DocumentReference) -> None:
    doc.set({"a": {"b": 1}})
    doc.set({"a.b": 2}, merge=True)
    assert fields_of(doc) == {"a": {"b": 1}, "a.b": 2}


def test_merge_of_named_fields_replaces_only_these(doc: firestore.DocumentReference) -> None:
    doc.set({"a": 1, "m": {"x": 1, "y": 2}})
    named: Any = ["m.y"]
    doc.set({"a": 9, "m": {"y": 3}}, merge=named)
    assert fields_of(doc) == {"a": 1, "m": {"x": 1, "y": 3}}


def test_merge_creates_what_is_missing(doc: firestore.DocumentReference) -> None:
    doc.set({"m": {"x": 1}}, merge=True)
    assert fields_of(doc) == {"m": {"x": 1}}


def test_merge_of_an_empty_document_creates_it(doc: firestore.DocumentReference) -> None:
    doc.set({}, merge=True)
    assert fields_of(doc) == {}


def test_update_reaches_into_maps(doc: firestore.DocumentReference) -> None:
    doc.set({"m": {"x": 1, "y": 2}, "a": 1})
    doc.update({"m.x": 5, "n.deep.er": True})
    assert fields_of(doc) == {"m": {"x": 5, "y": 2}, "a": 1, "n": {"deep": {"er": True}}}


def test_update_replaces_a_whole_map_when_it_names_it(doc: firestore.DocumentReference) -> None:
    doc.set({"m": {"x": 1, "y": 2}})
    doc.update({"m": {"z": 1}})
    assert fields_of(doc) == {"m": {"z": 1}}


def test_update_through_something_that_is_no_map_makes_it_one(doc: firestore.DocumentReference) -> None:
    doc.set({"a": 1})
    doc.update({"a.b": 2})
    assert fields_of(doc) == {"a": {"b": 2}}


def test_update_deletes_fields(doc: firestore.DocumentReference) -> None:
    doc.set({"a": 1, "m": {"x": 1, "y": 2}})
    doc.update({"a": firestore.DELETE_FIELD, "m.x": firestore.DELETE_FIELD, "no.such": firestore.DELETE_FIELD})
    assert fields_of(doc) == {"m": {"y": 2}}


def test_update_finds_odd_names(doc: firestore.DocumentReference) -> None:
    odd = {"with space": 1, "with.dot": 2, "back`tick": 3, "ü": 4, "back\\slash": 5, "1st": 6}
    doc.set({"m": odd})
    for name in odd:
        doc.update({FieldPath("m", name).to_api_repr(): 0})
    assert fields_of(doc) == {"m": dict.fromkeys(odd, 0)}


def test_update_needs_a_document(doc: firestore.DocumentReference) -> None:
    with pytest.raises(NotFound):
        doc.update({"a": 1})
    assert not doc.get().exists


def test_delete_of_nothing_is_fine(doc: firestore.DocumentReference) -> None:
    doc.delete()
    assert not doc.get().exists


def test_delete_leaves_subcollections(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    doc.set({})
    doc.collection("steps").document("s").set({"a": 1})
    doc.delete()
    assert not doc.get().exists
    assert fields_of(db.document("runs/r1/steps/s")) == {"a": 1}


def test_added_documents_get_an_id(db: firestore.Client) -> None:
    _, reference = db.collection("runs").add({"a": 1})
    assert len(reference.id) == 20
    assert fields_of(reference) == {"a": 1}


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


# --- several at once -----------------------------------------------------------------------------------------


def test_a_batch_happens_at_one_time(db: firestore.Client) -> None:
    batch = db.batch()
    for number in range(3):
        batch.set(db.document(f"runs/r{number}"), {"n": number})
    results = batch.commit()
    assert len({result.update_time for result in results}) == 1
    assert [fields_of(db.document(f"runs/r{number}")) for number in range(3)] == [{"n": n} for n in range(3)]


def test_a_batch_happens_wholly_or_not_at_all(db: firestore.Client) -> None:
    db.document("runs/old").set({"n": 0})
    db.document("runs/there").set({"n": 0})
    batch = db.batch()
    batch.set(db.document("runs/new"), {"n": 1})
    batch.update(db.document("runs/old"), {"n": 1})
    batch.create(db.document("runs/there"), {"n": 1})
    with pytest.raises(AlreadyExists):
        batch.commit()
    assert not db.document("runs/new").get().exists
    assert fields_of(db.document("runs/old")) == {"n": 0}


def test_writes_of_a_batch_see_each_other(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    batch = db.batch()
    batch.create(doc, {"n": 1})
    batch.update(doc, {"n": firestore.Increment(1)})
    batch.update(doc, {"m": firestore.Increment(1)})
    batch.commit()
    assert fields_of(doc) == {"n": 2, "m": 1}


def test_created_and_deleted_in_one_batch_was_never_there(db: firestore.Client) -> None:
    doc = db.document("runs/r1")
    batch = db.batch()
    batch.create(doc, {"n": 1})
    batch.delete(doc)
    batch.commit()
    assert not doc.get().exists


def test_a_batch_may_have_more_than_five_hundred_writes(db: firestore.Client) -> None:
    batch = db.batch()
    for number in range(501):
        batch.set(db.document(f"many/d{number:03}"), {"n": number})
    assert len(batch.commit()) == 501


def test_an_empty_batch_is_fine(db: firestore.Client) -> None:
    assert db.batch().commit() == []


def test_a_bulk_writer_reports_each_write_for_itself(db: firestore.Client) -> None:
    db.document("bulk/there").set({})
    bulk: Any = db.bulk_writer()
    failed: list[int] = []

    def note(failure: Any, _: Any) -> bool:
        failed.append(failure.code)
        return False

    bulk.on_write_error(note)
    bulk.create(db.document("bulk/there"), {"n": 1})
    bulk.create(db.document("bulk/new"), {"n": 1})
    bulk.close()
    assert failed == [6]
    assert fields_of(db.document("bulk/new")) == {"n": 1}


# --- transforms ----------------------------------------------------------------------------------------------


def test_server_time_is_one_time_for_all_fields(db: firestore.Client) -> None:
    batch = db.batch()
    batch.set(db.document("t/a"), {"at": firestore.SERVER_TIMESTAMP, "m": {"at": firestore.SERVER_TIMESTAMP}})
    batch.set(db.document("t/b"), {"at": firestore.SERVER_TIMESTAMP})
    batch.commit()
    a, b = db.document("t/a").get(), db.document("t/b").get()
    assert a.get("at") == a.get("m.at") == b.get("at")
    assert a.get("at").microsecond % 1000 == 0
    assert abs(a.get("at") - a.update_time) < dt.timedelta(seconds=5)


@pytest.mark.parametrize(
    ("before", "transform", "after"),
    [
        (1, firestore.Increment(2), 3),
        (1, firestore.Increment(-2), -1),
        (1, firestore.Increment(0.5), 1.5),
        (1.5, firestore.Increment(1), 2.5),
        ("text", firestore.Increment(2), 2),
        (None, firestore.Increment(2), 2),
        (2**63 - 1, firestore.Increment(1), 2**63 - 1),
        (-(2**63), firestore.Increment(-1), -(2**63)),
        (1, firestore.Maximum(2), 2),
        (3, firestore.Maximum(2), 3),
        (3, firestore.Maximum(3.0), 3),
        ("text", firestore.Maximum(2), 2),
        (1, firestore.Minimum(2), 1),
        (3, firestore.Minimum(2.5), 2.5),
        ([1, 2], firestore.ArrayUnion([2, 3, 3]), [1, 2, 3]),
        ([1], firestore.ArrayUnion([1.0, "1"]), [1, "1"]),
        ("text", firestore.ArrayUnion([1]), [1]),
        ([{"a": 1}], firestore.ArrayUnion([{"a": 1}, {"a": 2}]), [{"a": 1}, {"a": 2}]),
        ([1, 2, 1, 3], firestore.ArrayRemove([1, 3]), [2]),
        ("text", firestore.ArrayRemove([1]), []),
    ],
)
def test_a_transform_is_computed_where_the_document_is(
    before: Any, transform: Any, after: Any, doc: firestore.DocumentReference
) -> None:
    doc.set({"v": before})
    doc.update({"v": transform})
    found = doc.get().get("v")
    assert (found, type(found)) == (after, type(after))


@pytest.mark.parametrize(
    ("transform", "after"),
    [
        (firestore.Increment(2), 2),
        (firestore.Maximum(-1), -1),
        (firestore.ArrayUnion([1, 1, 2]), [1, 2]),
        (firestore.ArrayRemove([1]), []),
    ],
)
def test_a_transform_creates_its_field(transform: Any, after: Any, doc: firestore.DocumentReference) -> None:
    doc.set({"m": {"v": transform}})
    assert fields_of(doc) == {"m": {"v": after}}


def test_the_writer_is_told_what_became_of_its_transforms(db: firestore.Client) -> None:
    write = written(db, "t/a", n=types.Value(integer_value=5), l=types.Value(array_value=types.ArrayValue()))
    transform = types.DocumentTransform.FieldTransform
    write.update_transforms = [
        transform(field_path="n", increment=types.Value(integer_value=2)),
        transform(field_path="l", append_missing_elements=types.ArrayValue(values=[types.Value(integer_value=1)])),
    ]
    [result] = commit(db, write).write_results
    number, array = result.transform_results
    assert number.integer_value == 7
    assert "null_value" in array


# --- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**63 - 1, -(2**63), 0.0, -1.5, 1e308, math.inf, -math.inf,
        "", "text", "ünï¢ödé 🜁", "a\x00b", b"", b"\x00\xff", NOON, dt.datetime(1, 1, 1, tzinfo=dt.UTC),
        [], [1, "a", None], {}, {"a": {"b": [{"c": 1}]}}, firestore.GeoPoint(-33.5, 151.25), Vector([1.0, 2.0]),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_comes_back_as_it_was(value: Any, doc: firestore.DocumentReference) -> None:
    doc.set({"v": value})
    found = doc.get().get("v")
    assert (found, type(found).__name__) == (value, type(value).__name__.replace("datetime", "DatetimeWithNanoseconds"))


def test_nan_comes_back(doc: firestore.DocumentReference) -> None:
    doc.set({"v": math.nan})
    assert math.isnan(doc.get().get("v"))


def test_a_reference_comes_back(db: firestore.Client, doc: firestore.DocumentReference) -> None:
    doc.set({"v": db.document("other/one")})
    assert doc.get().get("v") == db.document("other/one")


def test_nanoseconds_are_cut_off(db: firestore.Client) -> None:
    commit(db, written(db, "t/a", at=types.Value(timestamp_value={"seconds": 1, "nanos": 123456789})))
    found = db.document("t/a").get().get("at")
    assert (found.microsecond, found.nanosecond) == (123456, 0)
