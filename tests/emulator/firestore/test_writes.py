"""What a write leaves behind, and when it is refused."""

from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists, NotFound
from google.cloud import firestore
from google.cloud.firestore_v1.field_path import FieldPath

from tests.emulator.firestore.client import fields_of, time_of

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
