"""Crowds: what holds for one writer holds for many at once."""

import time
from typing import Any

import pytest
from google.api_core.exceptions import Aborted, AlreadyExists, FailedPrecondition
from google.cloud import firestore

from tests.emulator.firestore.client import at_once, connected, fields_of
from tests.emulator.firestore.conftest import Place


@pytest.mark.parametrize("increments", [20, pytest.param(50, marks=pytest.mark.long)])
def test_compare_and_set_loses_no_increment(db: firestore.Client, place: Place, increments: int) -> None:
    """8 writers, each on the version that it has read."""
    db.document("t/counter").set({"n": 0})

    def count() -> None:
        with connected(place.host, db.project) as own:
            counter = own.document("t/counter")
            for _ in range(increments):
                while True:
                    seen = counter.get()
                    try:
                        option = own.write_option(last_update_time=seen.update_time)
                        counter.update({"n": seen.get("n") + 1}, option=option)
                        break
                    except (FailedPrecondition, Aborted):
                        continue

    at_once(*[count] * 8)
    assert fields_of(db.document("t/counter")) == {"n": 8 * increments}


def test_of_sixteen_that_create_one_succeeds(db: firestore.Client) -> None:
    won: list[tuple[int, int]] = []

    def create(writer: int) -> None:
        for number in range(10):
            try:
                db.document(f"race/d{number}").create({"by": writer})
                won.append((number, writer))
            except (AlreadyExists, Aborted):
                continue

    at_once(*[lambda writer=writer: create(writer) for writer in range(16)])
    assert sorted(number for number, _ in won) == list(range(10))
    assert all(fields_of(db.document(f"race/d{number}")) == {"by": writer} for number, writer in won)


def test_contended_transactions_finish(ours: firestore.Client) -> None:
    """4 × 20 increments of one document, with the library's own five attempts."""
    counter = ours.document("t/counter")
    counter.set({"n": 0})

    @firestore.transactional
    def add(transaction: firestore.Transaction) -> None:
        n = counter.get(transaction=transaction).get("n")
        transaction.update(counter, {"n": n + 1})

    def work() -> None:
        for _ in range(20):
            add(ours.transaction())

    started = time.monotonic()
    at_once(*[work] * 4)
    assert fields_of(counter) == {"n": 80}
    assert time.monotonic() - started < 30


def test_money_is_neither_made_nor_lost(ours: firestore.Client) -> None:
    """Transfers in both directions between the same accounts, while a reader adds them up."""
    accounts = [ours.document(f"bank/a{number}") for number in range(3)]
    for account in accounts:
        account.set({"n": 100})

    @firestore.transactional
    def move(transaction: firestore.Transaction, source: Any, target: Any) -> None:
        held = [document.get(transaction=transaction).get("n") for document in (source, target)]
        transaction.update(source, {"n": held[0] - 1})
        transaction.update(target, {"n": held[1] + 1})

    def work(step: int) -> None:
        for turn in range(8):
            source, target = accounts[turn % 3], accounts[(turn + step) % 3]
            move(ours.transaction(max_attempts=20), source, target)

    totals: set[int] = set()

    def watch() -> None:
        for _ in range(10):
            totals.add(sum(found.get("n") for found in ours.collection("bank").stream()))

    at_once(lambda: work(1), lambda: work(2), lambda: work(1), watch)
    assert totals == {300}
    assert sum(found.get("n") for found in ours.collection("bank").stream()) == 300
