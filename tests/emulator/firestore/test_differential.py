"""Random writes and random queries on both Firestores at once: whatever one answers, so does the other."""

import datetime as dt
import math
import random
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, BaseFilter, Or

from emulator.firestore.server import FirestoreServer
from tests.emulator.firestore.client import connected, ids, where

NOON = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LEAVES = (
    None,
    True,
    False,
    math.nan,
    0.0,
    -0.0,
    1.5,
    2.0,
    math.inf,
    "",
    "a",
    "b",
    "ü",
    b"",
    b"a",
    NOON,
    -2,
    -1,
    0,
    1,
    2,
)
LISTED = ("in", "not-in", "array_contains_any")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "array_contains", *LISTED)
TRANSFORMS = (
    firestore.DELETE_FIELD,
    firestore.Increment(1),
    firestore.Increment(0.5),
    firestore.Maximum(2),
    firestore.Minimum(1.0),
    firestore.ArrayUnion([1, "a", 1.0]),
    firestore.ArrayRemove([1, "a"]),
)


class Chance(random.Random):
    """Everything that is drawn."""

    def value(self, depth: int = 0) -> Any:
        shape = self.randrange(10) if depth < 2 else 0
        if shape == 8:
            return [value for value in self.values(depth) if not isinstance(value, list)]
        if shape == 9:
            return dict(zip("ab", self.values(depth), strict=False))
        return firestore.GeoPoint(self.randrange(2), 0) if shape == 7 else self.choice(LEAVES)

    def values(self, depth: int = 0) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self.randrange(3))]

    def fields(self) -> dict[str, Any]:
        return {name: self.value() for name in "xyz" if self.random() < 0.8}

    def update(self) -> dict[str, Any]:
        paths = self.choice([["x", "y.a"], ["y.b", "z"], ["x.a.b", "y"]])
        return {path: self.choice([self.value(), self.choice(TRANSFORMS)]) for path in paths}

    def filter(self, depth: int = 0) -> BaseFilter:
        if depth == 0 and self.random() < 0.3:
            return self.choice([And, Or])([self.filter(1), self.filter(1)])
        operator, value = self.choice(OPERATORS), self.value()
        if operator in LISTED:
            value = [value for value in self.values() if not isinstance(value, list)] or [1]
        elif operator not in ("==", "!=") and (value is None or value != value):  # noqa: PLR0124 - NaN
            value = 1  # the library itself refuses to compare with these
        return where(self.choice(["x", "y", "z", "y.a"]), operator, value)


def written(db: firestore.Client, kind: str, number: int, fields: dict[str, Any]) -> str:
    document: Any = db.document(f"c/d{number}")
    try:
        if kind == "delete":
            document.delete()
        elif kind == "merge":
            document.set(fields, merge=True)
        else:
            getattr(document, kind)(fields)
    except GoogleAPICallError as refused:
        return type(refused).__name__
    return "written"


def found(db: firestore.Client, steps: list[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> list[str] | str:
    query: Any = db.collection("c")
    for method, positional, named in steps:
        query = getattr(query, method)(*positional, **named)
    try:
        return ids(query)
    except GoogleAPICallError as refused:
        return type(refused).__name__


def a_query(chance: Chance) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The steps that build it: filters, orders, a cursor, a window."""
    steps: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("where", (), {"filter": chance.filter()}) for _ in range(chance.choice([0, 1, 1, 2]))
    ]
    orders = chance.sample("xyz", chance.choice([0, 0, 1, 2]))
    steps += [("order_by", (field,), {"direction": chance.choice(["ASCENDING", "DESCENDING"])}) for field in orders]
    if orders and chance.random() < 0.5:
        cursor = chance.choice(["start_at", "start_after", "end_at", "end_before"])
        steps.append((cursor, ({field: chance.value() for field in orders},), {}))
    if chance.random() < 0.4:
        steps += [("limit", (3,), {}), ("offset", (chance.randrange(3),), {})]
    return steps


def contents(db: firestore.Client) -> dict[str, str]:
    return {snapshot.id: _spelled(snapshot.to_dict()) for snapshot in db.collection("c").stream()}


def _spelled(value: Any) -> str:
    """Alike when alike in type and in every part; NaN is like NaN."""
    if isinstance(value, dict):
        return str({name: _spelled(value[name]) for name in sorted(value)})
    return str([_spelled(element) for element in value]) if isinstance(value, list) else repr(value)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 10))])
def test_both_answer_alike(seed: int, server: FirestoreServer, oracle_host: str) -> None:
    chance, project = Chance(seed), f"alike-{seed}"
    with connected(oracle_host, project) as theirs, connected(server.host, project) as ours:
        for _ in range(100):
            kind = chance.choice(["set", "merge", "update", "update", "create", "delete"])
            fields = chance.update() if kind == "update" else chance.fields()
            write = (kind, chance.randrange(20), fields)
            assert written(ours, *write) == written(theirs, *write), write
        assert contents(ours) == contents(theirs)
        for _ in range(150):
            steps = a_query(chance)
            assert found(ours, steps) == found(theirs, steps), steps
