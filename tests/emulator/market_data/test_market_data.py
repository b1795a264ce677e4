"""A market that is the same tomorrow: past bars never change, larger bars are made of smaller, all of them closed."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from emulator.market_data import Bars, Series, catalogue
from emulator.market_data.bars import SECONDS, Times, closing, combined, opening

NOW = datetime(2026, 6, 17, 12, 30, tzinfo=UTC)
Key = tuple[str, str]


def series(now: datetime) -> dict[Key, Series]:
    return {(one.symbol, one.timeframe): one for one in catalogue(now)}


@pytest.fixture(scope="module")
def today() -> dict[Key, Series]:
    return series(NOW)


def same(left: Bars, right: Bars) -> bool:
    names = ("opened", "open", "high", "low", "close", "volume")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


def seconds(*moments: datetime) -> Times:
    return np.array([int(moment.timestamp()) for moment in moments], dtype=np.int64)


def test_the_past_does_not_depend_on_now(today: dict[Key, Series]) -> None:
    for days in (1, 400):
        then = NOW - timedelta(days=days)
        for key, earlier in series(then).items():
            bars = today[key].bars
            assert same(earlier.bars, bars.where(closing(bars.opened, key[1]) <= int(then.timestamp())))


def test_every_bar_is_closed_and_the_next_one_is_not(today: dict[Key, Series]) -> None:
    for (symbol, timeframe), one in today.items():
        if one.kind == "generated":
            last = closing(one.bars.opened[-1:], timeframe)
            assert last[0] <= NOW.timestamp() < closing(last, timeframe)[0], (symbol, timeframe)


def test_bars_of_one_series_follow_each_other_without_a_gap(today: dict[Key, Series]) -> None:
    for (_, timeframe), one in today.items():
        if one.kind == "generated":
            assert np.array_equal(closing(one.bars.opened[:-1], timeframe), one.bars.opened[1:])


def test_generated_bars_are_possible_ones(today: dict[Key, Series]) -> None:
    for one in today.values():
        if one.kind == "generated":
            bars = one.bars
            assert (bars.low <= np.minimum(bars.open, bars.close)).all()
            assert (bars.high >= np.maximum(bars.open, bars.close)).all()
            assert (bars.low > 0).all()
            assert (bars.volume > 0).all()


def test_larger_bars_are_made_of_the_smaller(today: dict[Key, Series]) -> None:
    for symbol, small in (("BTCUSDT", "1h"), ("IBM", "1d")):
        parts, months = today[symbol, small].bars, today[symbol, "1M"].bars
        start = int(datetime(2012, 5, 1, tzinfo=UTC).timestamp())
        own = parts.where((parts.opened >= start) & (parts.opened < int(datetime(2012, 6, 1, tzinfo=UTC).timestamp())))
        month = months.where(months.opened == start)
        assert (month.open[0], month.close[0]) == (own.open[0], own.close[-1])
        assert (month.high[0], month.low[0]) == (own.high.max(), own.low.min())
        assert month.volume[0] == pytest.approx(own.volume.sum())


def test_two_symbols_do_not_walk_together(today: dict[Key, Series]) -> None:
    left, right = (np.diff(np.log(today[symbol, "1d"].bars.close[-3000:])) for symbol in ("BTCUSDT", "ETHUSDT"))
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.1


def test_volatility_changes_but_stays_plausible(today: dict[Key, Series]) -> None:
    steps = np.diff(np.log(today["BTCUSDT", "1d"].bars.close))
    months = np.array([chunk.std() for chunk in np.array_split(steps, 200)])
    assert months.max() > 3 * months.min()
    assert 0.4 < steps.std() * np.sqrt(365) < 1.2


def test_levels_are_those_of_such_a_coin(today: dict[Key, Series]) -> None:
    recent = today["BTCUSDT", "1d"].bars.close[-1000:]
    assert 10_000 < recent.min() < recent.max() < 300_000


def test_a_known_bar_is_the_same_on_every_machine(today: dict[Key, Series]) -> None:
    bars = today["BTCUSDT", "1d"].bars
    at = int(np.flatnonzero(bars.opened == int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()))[0])
    assert (bars.open[at], bars.close[at]) == (22_201.02, 22_660.74)


def test_an_incomplete_period_is_no_bar(today: dict[Key, Series]) -> None:
    def first_and_last(symbol: str, timeframe: str) -> list[str]:
        opened = today[symbol, timeframe].bars.opened
        return [str(day) for day in opened[[0, -1]].astype("datetime64[s]").astype("datetime64[D]")]

    assert first_and_last("IBM", "1w") == ["2000-03-06", "2013-02-25"]  # the data begin on a Wednesday
    assert first_and_last("IBM", "1M") == ["2000-03-01", "2013-02-01"]  # and end on the first of March
    assert first_and_last("FB", "1w") == ["2012-05-14", "2013-02-25"]  # it was listed on that Friday


@pytest.mark.parametrize(
    ("timeframe", "opened", "closed"),
    [
        ("1h", datetime(2024, 2, 29, 13, tzinfo=UTC), datetime(2024, 2, 29, 14, tzinfo=UTC)),
        ("4h", datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2024, 2, 29, 16, tzinfo=UTC)),
        ("1d", datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
        ("1w", datetime(2024, 2, 26, tzinfo=UTC), datetime(2024, 3, 4, tzinfo=UTC)),
        ("1M", datetime(2024, 2, 1, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_lies_in_its_bar(timeframe: str, opened: datetime, closed: datetime) -> None:
    moment = seconds(datetime(2024, 2, 29, 13, 59, 59, tzinfo=UTC))
    assert opening(moment, timeframe) == seconds(opened)
    assert closing(opening(moment, timeframe), timeframe) == seconds(closed)


def test_before_anything_began_there_is_nothing() -> None:
    early = series(datetime(1999, 1, 1, tzinfo=UTC))
    assert {len(one.bars) for one in early.values()} == {0}
    assert set(SECONDS) | {"1M"} == {timeframe for _, timeframe in early}


def test_bars_combined_into_their_own_timeframe_are_themselves(today: dict[Key, Series]) -> None:
    bars = today["ETHUSDT", "4h"].bars
    assert same(combined(bars, "4h"), bars)
