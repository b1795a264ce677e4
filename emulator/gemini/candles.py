"""Candles, found in a text that was written for a reader: as JSON objects, as compact rows, as columns, as CSV.

What counts is not the spelling but the sense: four numbers of which one is the highest and one the lowest. Rows that
do not make that sense are not candles, whatever they are called.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

NAMES: Final = ("open", "high", "low", "close")
FEWEST: Final = 2
HEADER: Final = re.compile(r"^.*\bopen\b.*\bhigh\b.*\blow\b.*\bclose\b.*$", re.IGNORECASE | re.MULTILINE)


class Candle(NamedTuple):
    open: float
    high: float
    low: float
    close: float


Series = list[Candle]


def candles_in(text: str) -> list[Series]:
    """Every series in the text, in its order."""
    found = [series for value in _json_values(text) for series in _series_in(value)]
    return found or [series for series in _tables(text) if len(series) >= FEWEST]


def _json_values(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), 0
    while (start := re.compile(r"[\[{]").search(text, position)) is not None:
        try:
            value, position = decoder.raw_decode(text, start.start())
        except ValueError:
            position = start.end()
        else:
            yield value


def _series_in(value: Any) -> Iterator[Series]:
    """A list of candles is a series; anything else is searched."""
    if isinstance(value, list):
        series = [candle for row in value if (candle := _candle(row)) is not None]
        if len(series) >= FEWEST and len(series) == len(value):
            yield series
        else:
            for item in value:
                yield from _series_in(item)
    elif isinstance(value, dict):
        columns = [_named(value, name) for name in NAMES]
        if all(isinstance(column, list) for column in columns):
            yield from _series_in([list(row) for row in zip(*columns, strict=False)])
        else:
            for item in value.values():
                yield from _series_in(item)


def _candle(row: Any) -> Candle | None:
    if isinstance(row, dict):
        return _sensible([_named(row, name) for name in NAMES])
    if isinstance(row, list) and len(row) >= 4:
        # With a time in front and a volume behind, or bare.
        return _sensible(row[1:5]) or _sensible(row[:4])
    return None


def _named(row: Mapping[str, Any], name: str) -> Any:
    """Spelled out or by its first letter, in any case."""
    lower = {str(key).lower(): value for key, value in row.items()}
    return lower.get(name, lower.get(name[0]))


def _sensible(values: Sequence[Any]) -> Candle | None:
    try:
        candle = Candle(*(float(value) for value in values))
    except (TypeError, ValueError):
        return None
    inside = candle.low <= min(candle.open, candle.close) and max(candle.open, candle.close) <= candle.high
    return candle if inside and candle.low > 0 else None


def _tables(text: str) -> Iterator[Series]:
    """Lines under a header that names the four prices, with whatever separates them."""
    for header in HEADER.finditer(text):
        separator = next((mark for mark in ",;|\t" if mark in header[0]), " ")
        names = [
            name.strip().lower() for name in next(csv.reader([header[0]], delimiter=separator, skipinitialspace=True))
        ]
        if not set(NAMES) <= set(names):
            continue
        series: Series = []
        for line in text[header.end() + 1 :].splitlines():
            cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
            candle = _candle(dict(zip(names, cells, strict=False)))
            if candle is not None:
                series.append(candle)
            elif not re.fullmatch(r"[\s|:+-]+", line):  # the rule below a table's header
                break
        yield series
