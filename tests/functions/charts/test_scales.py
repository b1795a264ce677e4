"""Axes that a person can read: round numbers, dates that do not crowd."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.worker_charts.drawing import scales

START = datetime(2024, 1, 1, tzinfo=UTC)


def every(step: timedelta, count: int) -> list[datetime]:
    return [START + number * step for number in range(count)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (34_000, 51_000, [35_000, 40_000, 45_000, 50_000]),
        (-0.4, 1.1, [0, 0.5, 1.0]),
        (0.0000098, 0.0000142, [0.00001, 0.000012, 0.000014]),
        (0, 100, [0, 25, 50, 75, 100]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert scales.ticks(low, high, 4) == pytest.approx(expected)


@given(st.floats(-1e6, 1e6), st.floats(1e-2, 1e9), st.integers(1, 12))
def test_ticks_lie_inside_and_are_never_too_many(low: float, span: float, most: int) -> None:
    high = low + span
    found = scales.ticks(low, high, most)
    assert len(found) <= most + 1
    assert all(low - span * 1e-6 <= tick <= high + span * 1e-6 for tick in found)


@pytest.mark.parametrize(("step", "digits"), [(500, 0), (2.5, 1), (0.25, 2), (2e-6, 6), (1, 0)])
def test_neighbouring_ticks_can_be_told_apart(step: float, digits: int) -> None:
    assert scales.decimals(step) == digits


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (950, "950"), (999.6, "1K"), (1_240_000, "1.24M"), (-3.5e9, "-3.5B"), (2e13, "20T"), (0.125, "0.12")],
)
def test_volumes_are_short(value: float, words: str) -> None:
    assert scales.short(value) == words


@pytest.mark.parametrize(
    ("price", "words"),
    [(43_211.5, "43,211.50"), (5.0, "5.0000"), (0.00001234, "0.000012340"), (0.0, "0.00"), (9.3e12, "9.3T")],
)
def test_prices_of_any_size_are_readable(price: float, words: str) -> None:
    assert scales.figure(price, scales.price_digits(price)) == words


@pytest.mark.parametrize(("low", "high"), [(5.0, 5.0), (0.0, 0.0), (1.0, 2.0), (-3.0, -3.0)])
def test_there_is_always_room_around_the_price(low: float, high: float) -> None:
    bottom, top = scales.padded(low, high)
    assert bottom < low <= high < top


def test_a_scale_turns_values_upside_down() -> None:
    scale = scales.Scale(10, 20, top=100, bottom=300)
    assert (scale.y(10), scale.y(20), scale.y(15)) == (300, 100, 200)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (every(timedelta(days=1), 180), ["15", "Feb", "15", "Mar", "15", "Apr", "15", "May", "15", "Jun", "15"]),
        (
            every(timedelta(days=7), 150),
            ["Apr", "Jul", "Oct", "2025", "Apr", "Jul", "Oct", "2026", "Apr", "Jul", "Oct"],
        ),
        (every(timedelta(minutes=15), 96), ["01 Jan 03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00"]),
        (every(timedelta(days=1), 1), ["01 Jan 2024"]),
    ],
    ids=["daily", "weekly", "quarters of an hour", "one candle"],
)
def test_dates_are_named_by_what_begins(times: list[datetime], words: list[str]) -> None:
    assert [word for _, word in scales.date_ticks(times, apart=12)] == words


@given(st.integers(1, 400), st.sampled_from([1, 15, 60, 240, 1440, 10_080, 43_200]), st.integers(2, 60))
def test_dates_never_crowd(count: int, minutes: int, apart: int) -> None:
    places = [index for index, _ in scales.date_ticks(every(timedelta(minutes=minutes), count), apart)]
    assert places
    assert all(after - before >= apart for before, after in pairwise(places))


def test_the_span_says_hours_only_where_they_matter() -> None:
    assert scales.span_of_time(every(timedelta(days=1), 31)) == "01 Jan 2024 to 31 Jan 2024"
    assert scales.span_of_time(every(timedelta(hours=1), 31)) == "01 Jan 2024 00:00 to 02 Jan 2024 06:00"
    assert scales.span_of_time(every(timedelta(hours=1), 1)) == "01 Jan 2024"
