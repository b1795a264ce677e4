"""What Firestore does not store, it refuses, and it says why."""

from functools import reduce
from typing import Any

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import firestore
from google.cloud.firestore_v1 import types

from tests.emulator.firestore.client import commit, fields_of, written

ONE = types.Value(integer_value=1)


@pytest.mark.parametrize(
    "path",
    ["a/__x__", "__a__/x", "a/.", "a/..", "a/b/c", "a", "a//b/c", "a/" + "x" * 1501, "x" * 1501 + "/a"],
    ids=lambda path: path[:10],
)
def test_a_name_that_no_document_can_have(db: firestore.Client, path: str) -> None:
    with pytest.raises(InvalidArgument):
        commit(db, written(db, path, v=ONE))


@pytest.mark.parametrize(
    "path", ["a/" + "x" * 1500, "ü/🜁", "a b/c:d", "a/...", "a/__id7__", "a/_x_"], ids=lambda path: path[:10]
)
def test_a_name_that_a_document_can_have(db: firestore.Client, path: str) -> None:
    commit(db, written(db, path, v=ONE))
    assert fields_of(db.document(path)) == {"v": 1}


@pytest.mark.parametrize("name", ["", "__x__", "x" * 1501], ids=lambda name: name[:10])
def test_a_name_that_no_field_can_have(db: firestore.Client, name: str) -> None:
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "a/b", **{name: ONE}))
    inside = types.Value(map_value=types.MapValue(fields={name: ONE}))
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "a/b", m=inside))


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a b", "`a", "1a", "a-b", "``", "__x__"])
def test_a_mask_that_is_no_path(db: firestore.Client, path: str) -> None:
    write = written(db, "a/b", v=ONE)
    write.update_mask = types.DocumentMask(field_paths=[path])
    with pytest.raises(InvalidArgument):
        commit(db, write)


def nested(depth: int) -> types.Value:
    return reduce(lambda value, _: types.Value(map_value=types.MapValue(fields={"m": value})), range(depth), ONE)


def test_maps_may_be_twenty_deep(db: firestore.Client) -> None:
    commit(db, written(db, "a/b", v=nested(20)))


def test_maps_may_not_be_deeper(db: firestore.Client) -> None:
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "a/b", v=nested(21)))


def test_an_array_holds_no_arrays(db: firestore.Client) -> None:
    inner = types.Value(array_value=types.ArrayValue(values=[ONE]))
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "a/b", v=types.Value(array_value=types.ArrayValue(values=[inner]))))


def test_an_array_holds_maps_that_hold_arrays(db: firestore.Client) -> None:
    db.document("a/b").set({"v": [{"w": [1, 2]}]})
    assert fields_of(db.document("a/b")) == {"v": [{"w": [1, 2]}]}


def test_a_document_of_a_mebibyte_is_stored(db: firestore.Client) -> None:
    large = "x" * (1_048_576 - 200)
    db.document("a/b").set({"v": large})
    assert db.document("a/b").get().get("v") == large


@pytest.mark.parametrize(
    "fields", [{"v": "x" * 1_048_576}, {f"v{n}": "x" * 100_000 for n in range(11)}], ids=["one", "many"]
)
def test_a_larger_one_is_not(db: firestore.Client, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        db.document("a/b").set(fields)
    assert not db.document("a/b").get().exists


def test_a_document_cannot_grow_too_large_step_by_step(db: firestore.Client) -> None:
    doc = db.document("a/b")
    doc.set({"a": "x" * 600_000})
    with pytest.raises(InvalidArgument):
        doc.update({"b": "x" * 600_000})
    assert set(fields_of(doc) or {}) == {"a"}


def test_a_value_must_be_something(db: firestore.Client) -> None:
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "a/b", v=types.Value()))


@pytest.mark.differs("A commit stays in its database")
def test_a_commit_stays_in_its_database(db: firestore.Client) -> None:
    write = types.Write(update=types.Document(name="projects/other/databases/(default)/documents/a/b"))
    with pytest.raises(InvalidArgument):
        commit(db, write)


def test_an_increment_by_text_is_invalid(db: firestore.Client) -> None:
    write = written(db, "a/b", v=ONE)
    field = types.DocumentTransform.FieldTransform(field_path="v", increment=types.Value(string_value="1"))
    write.update_transforms = [field]
    with pytest.raises(InvalidArgument):
        commit(db, write)
