"""Which documents a query finds, and in which order."""

import datetime as dt
import math
from typing import Any

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, Or

from tests.emulator.firestore.client import fill, ids, where

NOON = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
Collection = firestore.CollectionReference


@pytest.fixture
def mixed(db: firestore.Client) -> Collection:
    """One value of each kind; the ids tell Firestore's order."""
    values = {
        "a_null": None,
        "b_false": False,
        "c_true": True,
        "d_nan": math.nan,
        "e_minus_infinity": -math.inf,
        "f_negative": -7,
        "g_zero": 0.0,
        "h_half": 0.5,
        "i_one": 1,
        "j_large": 2**53 + 1,
        "k_infinity": math.inf,
        "l_time": NOON,
        "m_later": NOON + dt.timedelta(microseconds=1),
        "n_empty_text": "",
        "o_upper": "Z",
        "p_lower": "a",
        "q_umlaut": "ü",
        "r_private": "\ue000",
        "s_astral": "🜁",
        "t_bytes": b"\x00",
        "u_more_bytes": b"\x00\x01",
        "v_reference": db.document("a/b"),
        "w_reference": db.document("a/b/c/d"),
        "x_point": firestore.GeoPoint(-1, 5),
        "xx_point": firestore.GeoPoint(1, -5),
        "y_array": [],
        "ya_array": [1],
        "yb_array": [1, 1],
        "yc_array": [2],
        "yd_array": ["a"],
        "z_map": {},
        "za_map": {"a": 1},
        "zb_map": {"a": 1, "b": 0},
        "zc_map": {"a": 2},
        "zd_map": {"b": 0},
    }
    return fill(db, "mixed", **{name: {"v": value} for name, value in values.items()})


# --- order ---------------------------------------------------------------------------------------------------


def test_values_of_all_kinds_have_one_order(mixed: Collection) -> None:
    found = ids(mixed.order_by("v"))
    assert found == sorted(found)
    assert len(found) == 35


def test_and_its_reverse(mixed: Collection) -> None:
    found = ids(mixed.order_by("v", direction="DESCENDING"))
    assert found == sorted(found, reverse=True)


def test_without_an_order_results_come_by_name(db: firestore.Client) -> None:
    collection = fill(db, "a", b=1, a=1, Z=1, ü=1, a0=1, __id5__=1, __id10__=1)
    assert ids(collection) == ["__id5__", "__id10__", "Z", "a", "a0", "b", "ü"]


def test_equals_come_by_name_in_the_last_direction(numbers: Collection) -> None:
    assert ids(numbers.order_by("w")) == ["d0", "d3", "d1", "d4", "d2", "d5"]
    assert ids(numbers.order_by("w", direction="DESCENDING")) == ["d5", "d2", "d4", "d1", "d3", "d0"]
    assert ids(numbers.order_by("w").order_by("v", direction="DESCENDING")) == ["d3", "d0", "d4", "d1", "d5", "d2"]


def test_a_document_without_the_field_is_not_in_its_order(numbers: Collection) -> None:
    assert ids(numbers.order_by("even", direction="DESCENDING")) == ["d4", "d2", "d0"]


def test_inequalities_imply_their_order(numbers: Collection) -> None:
    assert ids(numbers.where(filter=where("w", ">=", 1))) == ["d1", "d4", "d2", "d5"]


@pytest.mark.differs("Names sort backwards, too")
def test_order_by_name_backwards(numbers: Collection) -> None:
    assert ids(numbers.order_by("__name__", direction="DESCENDING")) == ["d5", "d4", "d3", "d2", "d1", "d0"]


# --- filters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "op", "value", "found"),
    [
        ("v", "==", 3, "3"),
        ("v", "==", 3.0, "3"),
        ("v", "==", "3", ""),
        ("v", "==", None, ""),
        ("v", "!=", 3, "01245"),
        ("v", "<", 2, "01"),
        ("v", "<=", 2, "012"),
        ("v", ">", 3, "45"),
        ("v", ">=", 3.5, "45"),
        ("v", ">", "text", ""),
        ("v", "in", [5, 0, 9], "05"),
        ("v", "not-in", [5, 0, 9], "1234"),
        ("v", "not-in", [5, None], ""),
        ("m.v", "==", 2, "2"),
        ("m", "==", {"v": 2}, "2"),
        ("none.v", "==", 2, ""),
        ("even", "!=", 0, "24"),
        ("even", "not-in", [0], "24"),
        ("even", "!=", None, "024"),
        ("tags", "array_contains", "w1", "14"),
        ("tags", "array_contains", 4, "4"),
        ("tags", "array_contains_any", ["w2", 0], "025"),
        ("tags", "==", [1, "w1"], "1"),
        ("v", "array_contains", 1, ""),
    ],
)  # fmt: skip
def test_a_filter_finds(field: str, op: str, value: Any, found: str, numbers: Collection) -> None:
    results = sorted(ids(numbers.where(filter=where(field, op, value))))
    assert results == [f"d{digit}" for digit in found]


@pytest.mark.parametrize(
    ("op", "value", "found"),
    [
        ("==", None, ["a_null"]),
        ("==", math.nan, ["d_nan"]),
        ("<", 0.5, ["e_minus_infinity", "f_negative", "g_zero"]),
        (">=", 1, ["i_one", "j_large", "k_infinity"]),
        ("==", 2**53 + 1, ["j_large"]),
        (">", float(2**53), ["j_large", "k_infinity"]),
        ("==", -0.0, ["g_zero"]),
        (">", False, ["c_true"]),
        (">", NOON, ["m_later"]),
        (">=", "ü", ["q_umlaut", "r_private", "s_astral"]),
        ("<", b"\x00\x01", ["t_bytes"]),
        (">", [1], ["yb_array", "yc_array", "yd_array"]),
        (">", {"a": 1}, ["zb_map", "zc_map", "zd_map"]),
    ],
    ids=str,
)
def test_a_range_stays_within_its_kind(op: str, value: Any, found: list[str], mixed: Collection) -> None:
    assert ids(mixed.where(filter=where("v", op, value))) == found


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_negation_takes_every_kind_but_null(missing: Any, mixed: Collection) -> None:
    found = ids(mixed.where(filter=where("v", "!=", missing)))
    assert len(found) == (34 if missing is None else 33)
    assert "a_null" not in found


def test_only_their_own_filters_find_null_and_nan(mixed: Collection) -> None:
    assert ids(mixed.where(filter=where("v", "in", [None, math.nan, 1]))) == ["i_one"]
    assert "d_nan" in ids(mixed.where(filter=where("v", "not-in", [math.nan, 1])))


def test_references_compare_by_path(mixed: Collection, db: firestore.Client) -> None:
    assert ids(mixed.where(filter=where("v", ">", db.document("a/b")))) == ["w_reference"]


def test_names_can_be_filtered(numbers: Collection) -> None:
    assert ids(numbers.where(filter=where("__name__", ">", numbers.document("d3")))) == ["d4", "d5"]
    assert ids(numbers.where(filter=where("__name__", "in", [numbers.document("d1"), numbers.document("x")]))) == ["d1"]


def test_all_of_several(numbers: Collection) -> None:
    both = numbers.where(filter=where("w", "==", 1)).where(filter=where("v", ">", 1))
    assert ids(both) == ["d4"]
    assert ids(numbers.where(filter=And([where("v", ">", 1), where("w", "<", 2)]))) == ["d3", "d4"]


def test_any_of_several(numbers: Collection) -> None:
    either = Or([where("v", "==", 5), And([where("w", "==", 0), where("v", "<", 2)])])
    assert ids(numbers.where(filter=either)) == ["d0", "d5"]


def test_ranges_on_two_fields_sort_by_both(numbers: Collection) -> None:
    found = numbers.where(filter=where("w", ">", 0)).where(filter=where("v", ">", 1))
    assert ids(found) == ["d2", "d4", "d5"]
    assert ids(found.order_by("w", direction="DESCENDING")) == ["d5", "d2", "d4"]


# --- parts of the result -------------------------------------------------------------------------------------


def test_limit_and_offset(numbers: Collection) -> None:
    assert ids(numbers.limit(2)) == ["d0", "d1"]
    assert ids(numbers.offset(4)) == ["d4", "d5"]
    assert ids(numbers.order_by("v", direction="DESCENDING").offset(1).limit(2)) == ["d4", "d3"]
    assert ids(numbers.offset(9)) == []


def test_limit_to_last(numbers: Collection) -> None:
    assert [found.id for found in numbers.order_by("v").limit_to_last(2).get()] == ["d4", "d5"]


@pytest.mark.parametrize(
    ("cut", "found"),
    [
        (lambda q: q.start_at({"w": 1}), ["d1", "d4", "d2", "d5"]),
        (lambda q: q.start_after({"w": 1}), ["d2", "d5"]),
        (lambda q: q.end_at({"w": 1}), ["d0", "d3", "d1", "d4"]),
        (lambda q: q.end_before({"w": 1}), ["d0", "d3"]),
        (lambda q: q.start_at({"w": 0.5}).end_at({"w": 1.5}), ["d1", "d4"]),
        (lambda q: q.start_at({"w": "text"}), []),
        (lambda q: q.end_at({"w": "text"}), ["d0", "d3", "d1", "d4", "d2", "d5"]),
        (lambda q: q.start_after({"w": 0}).limit(3), ["d1", "d4", "d2"]),
        (lambda q: q.order_by("v").start_after({"w": 1, "v": 1}), ["d4", "d2", "d5"]),
    ],
)
def test_a_cursor_is_a_place_in_the_order(cut: Any, found: list[str], numbers: Collection) -> None:
    assert ids(cut(numbers.order_by("w"))) == found


def test_a_cursor_goes_backwards_too(numbers: Collection) -> None:
    backwards = numbers.order_by("w", direction="DESCENDING")
    assert ids(backwards.start_at({"w": 1})) == ["d4", "d1", "d3", "d0"]
    assert ids(backwards.end_before({"w": 1})) == ["d5", "d2"]


def test_a_document_is_a_cursor(numbers: Collection) -> None:
    middle = numbers.document("d4").get()
    assert ids(numbers.order_by("w").start_after(middle)) == ["d2", "d5"]
    assert ids(numbers.order_by("w", direction="DESCENDING").start_after(middle)) == ["d1", "d3", "d0"]
    assert ids(numbers.end_before(middle)) == ["d0", "d1", "d2", "d3"]
    assert ids(numbers.where(filter=where("v", ">", 1)).start_at(middle)) == ["d4", "d5"]


def test_pages_cover_everything_once(mixed: Collection) -> None:
    query = mixed.order_by("v").limit(4)
    found: list[str] = []
    while page := list(query.stream()):
        found += [snapshot.id for snapshot in page]
        query = mixed.order_by("v").limit(4).start_after(page[-1])
    assert found == ids(mixed.order_by("v"))


def test_only_the_selected_fields_come(numbers: Collection) -> None:
    [found] = numbers.select(["m.v", "none"]).limit(1).stream()
    assert found.to_dict() == {"m": {"v": 0}}
    [name] = numbers.select([]).limit(1).stream()
    assert (name.id, name.to_dict()) == ("d0", {})


# --- where to look -------------------------------------------------------------------------------------------


def test_a_collection_ends_before_its_subcollections(db: firestore.Client) -> None:
    for path in ("a/x", "a/x/a/y", "b/z/a/y"):
        db.document(path).set({"v": path})
    assert ids(db.collection("a")) == ["x"]
    assert ids(db.collection("a/x/a")) == ["y"]


def test_a_group_is_all_collections_of_one_id(db: firestore.Client) -> None:
    for path in ("a/x", "a/x/a/y", "b/z/a/y", "b/z"):
        db.document(path).set({"v": path})
    group = db.collection_group("a")
    assert [found.reference.path for found in group.stream()] == ["a/x", "a/x/a/y", "b/z/a/y"]
    assert [found.reference.path for found in group.where(filter=where("v", ">", "a/y")).stream()] == ["b/z/a/y"]


def test_a_query_sees_what_was_just_written(db: firestore.Client) -> None:
    collection = db.collection("a")
    for number in range(20):
        collection.document(f"d{number:02}").set({"v": number})
        assert len(ids(collection.where(filter=where("v", ">=", 0)))) == number + 1


# --- what is refused -----------------------------------------------------------------------------------------


REFUSED = {
    "in nothing": lambda c: c.where(filter=where("v", "in", [])),
    "in too many": lambda c: c.where(filter=where("v", "in", list(range(31)))),
    "not in too many": lambda c: c.where(filter=where("v", "not-in", list(range(11)))),
    "in a number": lambda c: c.where(filter=where("v", "in", 1)),
    "two negations": lambda c: c.where(filter=where("v", "not-in", [1])).where(filter=where("v", "!=", 1)),
    "not in and in": lambda c: c.where(filter=where("v", "not-in", [1])).where(filter=where("w", "in", [1, 2])),
    "two arrays": lambda c: c.where(filter=And([where("t", "array_contains", n) for n in (1, 2)])),
    "a name that is a number": lambda c: c.where(filter=where("__name__", ">", 3)),
    "the same order twice": lambda c: c.order_by("v").order_by("v"),
    "an order after the name": lambda c: c.order_by("__name__").order_by("v"),
    "a negative offset": lambda c: c.offset(-1),
    "a negative limit": lambda c: c.limit(-1),
}


@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
def test_a_query_that_firestore_refuses(query: Any, numbers: Collection) -> None:
    with pytest.raises((InvalidArgument, ValueError)):
        ids(query(numbers))
