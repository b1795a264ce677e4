"""What transactions and compare-and-set promise when many write at once."""

import threading
import time
from typing import Any

import pytest
from google.api_core.exceptions import Aborted, AlreadyExists, InvalidArgument
from google.cloud import firestore
from google.cloud.firestore_v1 import types

from emulator.firestore.server import FirestoreServer
from tests.emulator.firestore.client import at_once, commit, fields_of, fill, ids, where, written

ONE = types.Value(integer_value=1)


def begin(db: firestore.Client, **options: Any) -> bytes:
    api: Any = db._firestore_api
    request = types.BeginTransactionRequest(
        database=db._database_string, options=types.TransactionOptions(**options) if options else None
    )
    response: types.BeginTransactionResponse = api.begin_transaction(request, metadata=db._rpc_metadata)
    return response.transaction


def read(db: firestore.Client, transaction: bytes, *paths: str) -> None:
    api: Any = db._firestore_api
    names = [f"{db._database_string}/documents/{path}" for path in paths]
    request = types.BatchGetDocumentsRequest(database=db._database_string, documents=names, transaction=transaction)
    list(api.batch_get_documents(request, metadata=db._rpc_metadata))


# --- one transaction -----------------------------------------------------------------------------------------


def test_a_transaction_writes_what_it_decided(db: firestore.Client) -> None:
    a, b = db.document("t/a"), db.document("t/b")
    a.set({"n": 5})

    @firestore.transactional
    def move(transaction: firestore.Transaction) -> int:
        amount: int = a.get(transaction=transaction).get("n")
        transaction.update(a, {"n": 0})
        transaction.create(b, {"n": amount})
        return amount

    assert move(db.transaction()) == 5
    assert (fields_of(a), fields_of(b)) == ({"n": 0}, {"n": 5})


def test_a_transaction_that_raises_writes_nothing(db: firestore.Client) -> None:
    a = db.document("t/a")

    @firestore.transactional
    def fail(transaction: firestore.Transaction) -> None:
        a.get(transaction=transaction)
        transaction.set(a, {"n": 1})
        raise KeyError("no")

    with pytest.raises(KeyError):
        fail(db.transaction())
    assert not a.get().exists
    a.set({"n": 2})  # nobody holds it


def test_a_transaction_that_breaks_a_precondition_writes_nothing(db: firestore.Client) -> None:
    a, b = db.document("t/a"), db.document("t/b")
    b.set({})

    @firestore.transactional
    def create(transaction: firestore.Transaction) -> None:
        transaction.set(a, {"n": 1})
        transaction.create(b, {"n": 1})

    with pytest.raises(AlreadyExists):
        create(db.transaction())
    assert not a.get().exists


def test_a_transaction_can_query(db: firestore.Client) -> None:
    collection = fill(db, "t", a=1, b=2, c=3)

    @firestore.transactional
    def close(transaction: firestore.Transaction) -> int:
        found = list(transaction.get(collection.where(filter=where("v", ">", 1))))
        for snapshot in found:
            transaction.update(snapshot.reference, {"v": 0})
        return len(found)

    assert close(db.transaction()) == 2
    assert ids(collection.where(filter=where("v", ">", 0))) == ["a"]


def test_an_unknown_transaction_is_invalid(db: firestore.Client) -> None:
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "t/a", n=ONE), transaction=b"never begun")


def test_a_transaction_ends_once(db: firestore.Client) -> None:
    transaction = begin(db)
    commit(db, written(db, "t/a", n=ONE), transaction=transaction)
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "t/a", n=ONE), transaction=transaction)
    with pytest.raises(InvalidArgument):
        read(db, transaction, "t/a")


def test_a_transaction_can_be_given_up_twice(db: firestore.Client) -> None:
    api: Any = db._firestore_api
    transaction = begin(db)
    for _ in range(2):
        api.rollback(types.RollbackRequest(database=db._database_string, transaction=transaction))
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "t/a", n=ONE), transaction=transaction)


def test_a_read_only_transaction_does_not_write(db: firestore.Client) -> None:
    transaction = begin(db, read_only={})
    with pytest.raises(InvalidArgument):
        commit(db, written(db, "t/a", n=ONE), transaction=transaction)


def test_a_read_only_transaction_sees_one_moment(db: firestore.Client) -> None:
    collection = fill(db, "t", a=1, b=1)
    transaction = db.transaction(read_only=True)
    transaction._begin()
    assert collection.document("a").get(transaction=transaction).get("v") == 1
    collection.document("b").set({"v": 2})
    collection.document("c").set({"v": 2})
    assert collection.document("b").get(transaction=transaction).get("v") == 1
    assert [found.id for found in collection.stream(transaction=transaction)] == ["a", "b"]
    transaction._rollback()


# --- two transactions ----------------------------------------------------------------------------------------


def test_of_two_that_read_the_same_at_most_one_commits(db: firestore.Client) -> None:
    db.document("t/a").set({"n": 0})
    first, second = begin(db), begin(db)
    outcomes: list[str] = []

    def finish(transaction: bytes, value: int) -> None:
        try:
            commit(db, written(db, "t/a", n=types.Value(integer_value=value)), transaction=transaction)
            outcomes.append("committed")
        except Aborted:
            outcomes.append("aborted")

    read(db, first, "t/a")
    read(db, second, "t/a")
    at_once(lambda: finish(first, 1), lambda: finish(second, 2))
    assert sorted(outcomes) in (["aborted", "committed"], ["aborted", "aborted"])


@pytest.mark.differs("Transactions are optimistic")
def test_a_write_from_outside_aborts_who_has_read(db: firestore.Client) -> None:
    transaction = begin(db)
    read(db, transaction, "t/a")
    db.document("t/a").set({"n": 1})
    with pytest.raises(Aborted):
        commit(db, written(db, "t/b", n=ONE), transaction=transaction)
    assert not db.document("t/b").get().exists


@pytest.mark.differs("Transactions are optimistic")
def test_a_new_result_aborts_who_has_queried(db: firestore.Client) -> None:
    collection = fill(db, "t", a=1)
    transaction = db.transaction()
    transaction._begin()
    assert len(list(transaction.get(collection.where(filter=where("v", "==", 1))))) == 1
    collection.document("b").set({"v": 1})
    transaction.set(collection.document("c"), {"v": 1})
    with pytest.raises(Aborted):
        transaction._commit()


def test_an_aborted_transaction_is_tried_again_and_succeeds(ours: firestore.Client) -> None:
    a = ours.document("t/a")
    a.set({"n": 0})
    attempts = 0

    @firestore.transactional
    def add(transaction: firestore.Transaction) -> None:
        nonlocal attempts
        attempts += 1
        n = a.get(transaction=transaction).get("n")
        if attempts == 1:
            a.update({"n": 100})  # somebody else is faster, once
        transaction.update(a, {"n": n + 1})

    add(ours.transaction())
    assert attempts == 2
    assert fields_of(a) == {"n": 101}


def fight_over(db: firestore.Client, *paths: str) -> None:
    """Let each of these documents cost a transaction its commit."""
    for path in paths:
        transaction = begin(db)
        read(db, transaction, path)
        db.document(path).set({"n": 0})
        with pytest.raises(Aborted):
            commit(db, written(db, path, n=ONE), transaction=transaction)


def test_who_reads_what_is_fought_over_holds_it(ours: firestore.Client) -> None:
    a = ours.document("t/a")
    fight_over(ours, "t/a")
    transaction = begin(ours)
    read(ours, transaction, "t/a")
    other = threading.Thread(target=lambda: a.update({"n": firestore.Increment(1)}))
    other.start()
    time.sleep(0.2)
    assert other.is_alive()
    assert fields_of(a) == {"n": 0}  # reading is free
    commit(ours, written(ours, "t/a", n=types.Value(integer_value=10)), transaction=transaction)
    other.join(5)
    assert fields_of(a) == {"n": 11}


def test_a_clear_ends_whoever_is_at_work(server: FirestoreServer, ours: firestore.Client) -> None:
    fight_over(ours, "t/a")
    holder, idle = begin(ours), begin(ours)
    read(ours, holder, "t/a")
    server.clear(ours.project)
    started = time.monotonic()
    ours.document("t/a").set({"n": 2})
    assert time.monotonic() - started < 1, "nobody holds it any more"
    for transaction in (holder, idle):
        with pytest.raises(InvalidArgument):
            commit(ours, written(ours, "t/a", n=ONE), transaction=transaction)
    only_begun = begin(ours)
    server.clear_all()
    with pytest.raises(InvalidArgument):
        commit(ours, written(ours, "t/a", n=ONE), transaction=only_begun)


def test_two_that_wait_for_each_other_do_not_wait_for_ever(ours: firestore.Client) -> None:
    fight_over(ours, "t/a", "t/b")
    first, second = begin(ours), begin(ours)
    read(ours, first, "t/a")
    read(ours, second, "t/b")
    outcomes: list[str] = []

    def cross(transaction: bytes, path: str) -> None:
        read(ours, transaction, path)
        try:
            commit(ours, written(ours, path, n=ONE), transaction=transaction)
            outcomes.append("committed")
        except Aborted:
            outcomes.append("aborted")

    started = time.monotonic()
    at_once(lambda: cross(first, "t/b"), lambda: cross(second, "t/a"))
    assert sorted(outcomes) == ["aborted", "committed"]
    assert time.monotonic() - started < 2
