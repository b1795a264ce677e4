"""Counting, adding up and averaging what a query finds."""

from typing import Any

from google.cloud import firestore

from tests.emulator.firestore.client import fill, where

Collection = firestore.CollectionReference


def number(aggregation: Any) -> Any:
    [[result]] = aggregation.get()
    return result.value


def test_results_are_counted(numbers: Collection) -> None:
    everything: Any = numbers
    assert number(everything.count()) == 6
    assert number(numbers.where(filter=where("w", "==", 1)).count()) == 2
    assert number(numbers.limit(4).count()) == 4
    assert number(numbers.offset(4).count()) == 2
    assert number(numbers.where(filter=where("w", "==", 7)).count()) == 0


def test_numbers_are_added_up(numbers: Collection) -> None:
    assert number(numbers.sum("v")) == 15
    assert number(numbers.sum("even")) == 6
    assert number(numbers.sum("none")) == 0
    assert number(numbers.sum("tags")) == 0


def test_and_averaged(numbers: Collection) -> None:
    assert number(numbers.avg("v")) == 2.5
    assert number(numbers.avg("none")) == 0.0  # the library's word for null


def test_sums_of_large_numbers_become_doubles(db: firestore.Client) -> None:
    collection = fill(db, "large", a=2**62, b=2**62, c="text", d=0.5)
    assert number(collection.sum("v")) == float(2**63)


def test_several_aggregations_share_their_documents(numbers: Collection) -> None:
    summed: Any = numbers.sum("even", alias="sum")
    [results] = summed.count(alias="count").avg("v", alias="avg").get()
    assert {result.alias: result.value for result in results} == {"sum": 6, "count": 3, "avg": 2.0}
