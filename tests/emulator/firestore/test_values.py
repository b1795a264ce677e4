"""Values come back as they were, and transforms are computed where the document is."""

import datetime as dt
import math
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.vector import Vector

from tests.emulator.firestore.client import commit, fields_of, written

NOON = dt.datetime(2026, 5, 4, 12, 0, 0, 123456, dt.UTC)


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
