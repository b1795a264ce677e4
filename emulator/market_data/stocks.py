"""Real daily bars: five stocks from 2000 to 2013, out of the package `bokeh_sampledata` (BSD-3-Clause).

Only its file is read. The package itself imports pandas, and that takes longer than everything else here.
"""

import csv
import gzip
from datetime import UTC, datetime
from importlib.resources import files
from typing import Final

import numpy as np

from emulator.market_data.bars import Bars

ORIGIN: Final = "bokeh_sampledata, stocks.csv.gz (BSD-3-Clause); prices as traded, not adjusted"
EXCHANGES: Final = {"AAPL": "NASDAQ", "FB": "NASDAQ", "GOOG": "NASDAQ", "IBM": "NYSE", "MSFT": "NASDAQ"}
LISTED_LATER: Final = frozenset({"FB", "GOOG"})  # their first week is whole: there was no trade before
SINCE: Final = int(datetime(2000, 3, 1, tzinfo=UTC).timestamp())
UNTIL: Final = int(datetime(2013, 3, 4, tzinfo=UTC).timestamp())  # the Monday after the last bar: that week is whole


def daily_bars() -> dict[str, Bars]:
    """The bars of each stock, by its ticker; each opens at midnight of its day."""
    path = files("bokeh_sampledata") / "_data" / "stocks.csv.gz"
    rows: dict[str, list[list[str]]] = {ticker: [] for ticker in EXCHANGES}
    with path.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8", newline="") as text:
        lines = csv.reader(text)
        next(lines)
        for ticker, *row in lines:
            rows[ticker].append(row)
    return {ticker: _bars(own) for ticker, own in rows.items()}


def _bars(rows: list[list[str]]) -> Bars:
    dates, open_, high, low, close, volume, _ = zip(*rows, strict=True)
    opened = np.array(dates, dtype="datetime64[s]").astype(np.int64)
    columns = (np.array(column, dtype=np.float64) for column in (open_, high, low, close, volume))
    return Bars(opened, *columns)
