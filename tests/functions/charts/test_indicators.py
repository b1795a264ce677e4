"""Figures that can be checked by hand, and the laws that hold for any market."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.contracts.candles import Candle
from functions.worker_charts.drawing import indicators
from tests.functions.charts.market import candle, walk

CLOSES = [
    44.34,
    44.09,
    44.15,
    43.61,
    44.33,
    44.83,
    45.10,
    45.42,
    45.84,
    46.08,
    45.89,
    46.03,
    45.61,
    46.28,
    46.28,
    46.00,
]
PRICES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60)


def rounded(values: indicators.Values, digits: int = 4) -> list[float | None]:
    return [None if value is None else round(value, digits) for value in values]


def test_simple_average_needs_as_many_values_as_it_is_long() -> None:
    assert indicators.simple_average([1.0, 2.0, 3.0, 4.0], 3) == [None, None, 2.0, 3.0]
    assert indicators.simple_average([1.0, 2.0], 1) == [1.0, 2.0]


def test_simple_average_begins_anew_after_a_hole() -> None:
    assert indicators.simple_average([1.0, 3.0, None, 5.0, 7.0], 2) == [None, 2.0, None, None, 6.0]


def test_exponential_average_begins_with_the_plain_one() -> None:
    # The first value is the mean of 1, 2, 3; then each new price weighs a half.
    assert indicators.exponential_average([1.0, 2.0, 3.0, 8.0], 3) == [None, None, 2.0, 5.0]


def test_bollinger_bands_are_two_deviations_of_the_population_away() -> None:
    lower, middle, upper = indicators.bollinger_bands([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 8, 2.0)
    assert (lower[-1], middle[-1], upper[-1]) == (1.0, 5.0, 9.0)
    assert lower[:-1] == [None] * 7


def test_relative_strength_of_the_textbook() -> None:
    """The worked example that every description of Wilder's index repeats."""
    assert indicators.relative_strength(CLOSES, 14)[13] is None
    assert rounded(indicators.relative_strength(CLOSES, 14), 2)[14:] == [70.46, 66.25]


@pytest.mark.parametrize(
    ("closes", "expected"),
    [([1.0, 2.0, 3.0, 4.0], 100.0), ([4.0, 3.0, 2.0, 1.0], 0.0), ([5.0] * 4, 50.0)],
    ids=["rising", "falling", "still"],
)
def test_relative_strength_at_its_ends(closes: list[float], expected: float) -> None:
    assert indicators.relative_strength(closes, 3)[-1] == expected


@given(closes=PRICES)
def test_strength_never_leaves_its_scale(closes: list[float]) -> None:
    fast, slow = indicators.stochastic_strength(closes, 5, 4, 2, 2)
    for value in (*indicators.relative_strength(closes, 5), *fast, *slow):
        assert value is None or -1e-9 <= value <= 100 + 1e-9


def test_stochastic_strength_stands_at_the_top_of_its_own_range() -> None:
    fast, slow = indicators.stochastic_strength([5.0, 4.0, 5.0, 4.0, 5.0, 6.0, 7.0, 8.0], 2, 3, 1, 1)
    assert fast[-1] == 100.0
    assert slow == fast


def test_convergence_is_the_difference_of_two_averages() -> None:
    closes = [float(number) for number in range(1, 41)]
    line, signal, between = indicators.moving_convergence(closes, 12, 26, 9)
    # On a straight line each average lags by half its length: (26 - 12) / 2 apart.
    assert line[24] is None
    assert line[25] == pytest.approx(7.0)
    assert signal[32] is None
    assert signal[33] == pytest.approx(7.0)
    assert between[33] == pytest.approx(0.0, abs=1e-9)


def test_parabolic_stop_follows_the_trend_from_below_and_turns_when_it_is_broken() -> None:
    up = [candle(number, 10.0 + number, 11.0 + number, 9.0 + number, 10.5 + number) for number in range(6)]
    stops = indicators.parabolic_stop([*up, candle(6, 12.0, 12.0, 5.0, 5.0)], 0.02, 0.02, 0.2)
    assert stops[0] is None
    assert rounded(stops[1:4]) == [9.0, 9.12, 9.3528]  # 9 + 0.04 × (12 − 9), then 9.12 + 0.06 × (13 − 9.12)
    assert all((stop or 0) < each.low for stop, each in zip(stops[1:6], up[1:], strict=True))
    assert stops[6] == 16.0  # the highest high so far: the dot jumps above


def test_parabolic_stop_of_one_candle_is_no_stop() -> None:
    assert indicators.parabolic_stop([candle(0, 1.0)], 0.02, 0.02, 0.2) == [None]
    assert indicators.parabolic_stop([], 0.02, 0.02, 0.2) == []


def test_accumulation_weighs_volume_by_the_close_within_the_range() -> None:
    candles = [
        candle(0, 1.0, 2.0, 1.0, 2.0, volume=10.0),  # closed at its high: all of it
        candle(1, 2.0, 2.0, 1.0, 1.0, volume=4.0),  # at its low: all of it, taken away
        candle(2, 1.0, 2.0, 1.0, 1.5, volume=9.0),  # in the middle: nothing
        candle(3, 1.5, volume=9.0),  # no range at all: nothing
    ]
    assert indicators.accumulation(candles) == [10.0, 6.0, 6.0, 6.0]


def test_balance_of_volume_counts_whole_candles() -> None:
    candles = [candle(n, price, volume=volume) for n, (price, volume) in enumerate([(5, 9), (6, 2), (6, 3), (4, 5)])]
    assert indicators.balance_of_volume(candles) == [0.0, 2.0, 2.0, -3.0]
    assert indicators.balance_of_volume([]) == []


def test_volume_profile_spreads_a_candle_over_its_range() -> None:
    candles = [candle(0, 0.0, 4.0, 0.0, 4.0, volume=8.0), candle(1, 4.0, 4.0, 2.0, 2.0, volume=6.0), candle(2, 1.0)]
    assert indicators.volume_profile(candles, 0.0, 4.0, 4) == [(2.0, 0.0), (3.0, 0.0), (2.0, 3.0), (2.0, 3.0)]


@pytest.mark.parametrize("candles", [walk(50), [candle(0, 5.0)] * 3, [candle(0, 1.0, 3.0, 1.0, 2.0)]])
def test_volume_profile_loses_nothing(candles: list[Candle]) -> None:
    low, high = min(each.low for each in candles), max(each.high for each in candles)
    profile = indicators.volume_profile(candles, low, high, 24)
    assert sum(map(sum, profile)) == pytest.approx(sum(each.volume for each in candles))
