"""Reading documents by name, in lists, and as they were."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import requests
from google.api_core.exceptions import InvalidArgument, MethodNotImplemented
from google.cloud import firestore
from google.cloud.firestore_v1 import types

from emulator.firestore.server import FirestoreServer
from tests.emulator.firestore.client import fields_of, fill, ids, time_of
from tests.emulator.firestore.conftest import Place

Connect = Callable[..., firestore.Client]


def test_a_document_that_is_not_there_is_said_to_be_missing(db: firestore.Client) -> None:
    snapshot = db.document("a/none").get()
    assert not snapshot.exists
    assert snapshot.to_dict() is None
    assert snapshot.read_time is not None


def test_only_the_asked_fields_are_read(db: firestore.Client) -> None:
    fill(db, "a", b={"x": 1, "m": {"y": 2, "z": 3}, "with.dot": 4})
    assert db.document("a/b").get(["x", "m.y", "none", "`with.dot`"]).to_dict() == {
        "x": 1,
        "m": {"y": 2},
        "with.dot": 4,
    }


def test_many_are_read_at_one_time(db: firestore.Client) -> None:
    collection = fill(db, "a", b=1, c=2)
    found = list(db.get_all([collection.document(name) for name in ("c", "none", "b")]))
    assert {snapshot.id: snapshot.exists for snapshot in found} == {"c": True, "none": False, "b": True}
    assert len({snapshot.read_time for snapshot in found}) == 1


def test_the_read_time_is_not_before_what_was_read(db: firestore.Client) -> None:
    db.document("a/b").set({"v": 1})
    snapshot: Any = db.document("a/b").get()
    assert snapshot.read_time >= snapshot.update_time


def test_a_name_that_is_no_document_is_invalid(db: firestore.Client) -> None:
    api: Any = db._firestore_api
    with pytest.raises(InvalidArgument):
        api.get_document(types.GetDocumentRequest(name=f"{db._database_string}/documents/a/b/c"))


# --- databases -----------------------------------------------------------------------------------------------


def test_projects_do_not_see_each_other(db: firestore.Client, another: Connect) -> None:
    db.document("a/b").set({"v": 1})
    assert not another(f"{db.project}-2").document("a/b").get().exists


def test_databases_do_not_see_each_other(db: firestore.Client, another: Connect) -> None:
    second = another(db.project, database="second")
    db.document("a/b").set({"v": 1})
    assert not second.document("a/b").get().exists
    second.document("a/b").set({"v": 2})
    assert fields_of(db.document("a/b")) == {"v": 1}


def test_a_database_can_be_cleared(db: firestore.Client, another: Connect, place: Place) -> None:
    other = another(f"{db.project}-other")
    for client in (db, other):
        fill(client, "a", b=1, c=2)
    url = f"http://{place.host}/emulator/v1/projects/{db.project}/databases/(default)/documents"
    assert requests.delete(url.replace("(", "%28"), timeout=10).status_code == 200
    assert ids(db.collection("a")) == []
    assert ids(other.collection("a")) == ["b", "c"]
    db.document("a/b").create({"v": 1})


def test_a_clear_disturbs_nobody_in_another_database(db: firestore.Client, another: Connect, place: Place) -> None:
    other = another(f"{db.project}-other")
    for client in (db, other):
        fill(client, "a", b=1, c=2)
    transaction = db.transaction(max_attempts=1)

    @firestore.transactional
    def read_twice(transaction: firestore.Transaction) -> list[dict[str, Any] | None]:
        first = db.document("a/b").get(transaction=transaction)
        url = f"http://{place.host}/emulator/v1/projects/{other.project}/databases/(default)/documents"
        assert requests.delete(url, timeout=10).status_code == 200
        return [first.to_dict(), db.document("a/c").get(transaction=transaction).to_dict()]

    assert read_twice(transaction) == [{"v": 1}, {"v": 2}]
    assert ids(other.collection("a")) == []


def test_the_past_of_a_cleared_database_is_empty(ours: firestore.Client, server: FirestoreServer) -> None:
    fill(ours, "a", b=1)
    then = ours.document("a/b").get().read_time
    server.clear(ours.project)
    fill(ours, "a", c=1)
    assert [document.id for document in ours.collection("a").stream(read_time=then)] == []


# --- lists ---------------------------------------------------------------------------------------------------


def test_collections_are_listed(db: firestore.Client) -> None:
    for path in ("b/x", "a/x", "a/x/sub/y", "ghost/x/sub/y"):
        db.document(path).set({})
    assert [collection.id for collection in db.collections()] == ["a", "b", "ghost"]
    assert [collection.id for collection in db.document("a/x").collections()] == ["sub"]
    assert list(db.document("a/none").collections()) == []


def test_documents_are_listed_with_those_that_only_have_descendants(db: firestore.Client) -> None:
    for path in ("a/x", "a/z", "a/ghost/sub/y"):
        db.document(path).set({})
    assert [document.id for document in db.collection("a").list_documents()] == ["ghost", "x", "z"]


def test_a_list_comes_in_pages(db: firestore.Client) -> None:
    fill(db, "a", **{f"d{number}": number for number in range(7)})
    api: Any = db._firestore_api
    request = types.ListDocumentsRequest(parent=f"{db._database_string}/documents", collection_id="a", page_size=3)
    pages = api.list_documents(request, metadata=db._rpc_metadata).pages
    assert [[document.name[-2:] for document in page.documents] for page in pages] == [
        ["d0", "d1", "d2"],
        ["d3", "d4", "d5"],
        ["d6"],
    ]


def test_a_tree_can_be_deleted(db: firestore.Client) -> None:
    for path in ("a/x", "a/x/sub/y", "a/x/sub/y/deep/z", "b/x"):
        db.document(path).set({})
    db.recursive_delete(db.collection("a"))
    assert [collection.id for collection in db.collections()] == ["b"]


# --- the past ------------------------------------------------------------------------------------------------


def test_documents_can_be_read_as_they_were(db: firestore.Client) -> None:
    doc = db.document("a/b")
    first = time_of(doc.set({"v": 1}))
    doc.set({"v": 2})
    second = time_of(doc.set({"v": 3}))
    doc.delete()
    assert doc.get(read_time=first).to_dict() == {"v": 1}
    assert doc.get(read_time=second).to_dict() == {"v": 3}
    assert not doc.get(read_time=first - dt.timedelta(microseconds=1)).exists
    assert not doc.get().exists


def test_queries_can_be_run_on_the_past(db: firestore.Client) -> None:
    collection = fill(db, "a", b=1, c=2)
    before = time_of(collection.document("d").set({"v": 3}))
    collection.document("b").delete()
    collection.document("e").set({"v": 4})
    assert [found.id for found in collection.stream(read_time=before)] == ["b", "c", "d"]
    assert ids(collection) == ["c", "d", "e"]


def test_the_future_cannot_be_read(db: firestore.Client) -> None:
    with pytest.raises(InvalidArgument):
        db.document("a/b").get(read_time=dt.datetime.now(dt.UTC) + dt.timedelta(hours=1))


# --- what is missing -----------------------------------------------------------------------------------------


def test_a_call_that_is_missing_is_named(ours: firestore.Client) -> None:
    with pytest.raises(MethodNotImplemented, match="PartitionQuery"):
        list(ours.collection_group("a").get_partitions(3))
