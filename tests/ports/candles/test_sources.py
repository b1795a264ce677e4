"""What every source of candles promises, whatever is behind it."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

from flowcore.contracts.candles import Candle, CandleSource
from tests.ports.candles.conftest import SourceOf
from tests.ports.candles.rows import DAY, JANUARY, YEAR, a_candle, a_row


def closes(source: CandleSource, query: object = YEAR) -> list[tuple[int, float]]:
    """(day, close) of every candle."""
    return [((candle.time - JANUARY).days, candle.close) for candle in source.candles(query, 10)]  # type: ignore[arg-type]


def test_candles_come_in_the_order_of_time(source_of: SourceOf) -> None:
    source = source_of([a_row(day, close=10.0 + day) for day in range(5)])
    assert list(source.candles(YEAR, 10)) == [a_candle(day, close=10.0 + day) for day in range(5)]


def test_only_what_is_asked_for_comes(source_of: SourceOf) -> None:
    source = source_of(
        [
            a_row(0, close=1.0),
            a_row(1, symbol="ETHUSDT"),
            a_row(2, timeframe="1w"),
            a_row(3, symbol="btcusdt"),
            a_row(4, close=5.0),
        ]
    )
    assert closes(source) == [(0, 1.0), (4, 5.0)]


def test_both_bounds_are_included(source_of: SourceOf) -> None:
    source = source_of([a_row(day) for day in range(6)])
    asked = replace(YEAR, since=JANUARY + DAY, until=JANUARY + 4 * DAY)
    assert [day for day, _ in closes(source, asked)] == [1, 2, 3, 4]


def test_bounds_that_exclude_each_other_leave_nothing(source_of: SourceOf) -> None:
    assert closes(source_of([a_row(1)]), replace(YEAR, since=JANUARY + 9 * DAY, until=JANUARY)) == []


def test_a_source_without_rows_has_no_candles(source_of: SourceOf) -> None:
    assert closes(source_of([])) == []


def test_an_exchange_can_be_asked_for(source_of: SourceOf) -> None:
    source = source_of([a_row(0, close=1.0), a_row(0, close=2.0, exchange="BYBIT"), a_row(1, close=3.0)])
    assert closes(source, replace(YEAR, exchange="BYBIT")) == [(0, 2.0)]
    assert closes(source, replace(YEAR, exchange="KRAKEN")) == []


def test_of_several_exchanges_the_first_by_name_counts_and_the_others_fill_its_gaps(source_of: SourceOf) -> None:
    source = source_of(
        [
            a_row(0, close=2.0, exchange="BYBIT", ingested_at=JANUARY + 500 * DAY),
            a_row(0, close=1.0, exchange="BINANCE"),
            a_row(1, close=4.0, exchange="BYBIT"),
            a_row(2, close=5.0, exchange="BINANCE"),
            a_row(2, close=6.0, exchange="BYBIT"),
        ]
    )
    assert closes(source) == [(0, 1.0), (1, 4.0), (2, 5.0)]


def test_of_several_ingestions_the_last_counts(source_of: SourceOf) -> None:
    first, second = JANUARY + 400 * DAY, JANUARY + 401 * DAY
    source = source_of([a_row(0, close=1.0, ingested_at=second), a_row(0, close=2.0, ingested_at=first)])
    assert closes(source) == [(0, 1.0)]


def test_a_complete_row_counts_before_an_incomplete_one(source_of: SourceOf) -> None:
    source = source_of(
        [
            a_row(0, close=1.0, exchange="KRAKEN"),
            a_row(0, close=None, exchange="BINANCE", ingested_at=JANUARY + 500 * DAY),
        ]
    )
    assert closes(source) == [(0, 1.0)]


def test_rows_that_differ_in_their_figures_alone_are_chosen_between_without_luck(source_of: SourceOf) -> None:
    rows = [a_row(0, close=3.0), a_row(0, close=1.0), a_row(0, close=2.0)]
    assert closes(source_of(rows)) == [(0, 1.0)]


def test_a_missing_figure_is_no_number(source_of: SourceOf) -> None:
    source = source_of([a_row(0, close=None), a_row(1, volume=None)])
    first, second = source.candles(YEAR, 10)
    assert (isnan(first.close), first.complete) == (True, False)
    assert (isnan(second.volume), second.complete) == (True, False)
    assert first.open == 9.5


def test_candles_can_be_had_again(source_of: SourceOf) -> None:
    source = source_of([a_row(day) for day in range(3)])
    assert list(source.candles(YEAR, 10)) == list(source.candles(YEAR, 10))


def test_reading_can_be_broken_off(source_of: SourceOf) -> None:
    """Nothing stays open behind the caller's back: warnings are errors here."""
    candles = source_of([a_row(day) for day in range(9)]).candles(YEAR, 10)
    assert isinstance(next(candles), Candle)
    candles.close()  # type: ignore[attr-defined]
