"""The dataset `market`: candles, and beside them the truth about which are real."""

from datetime import UTC, datetime
from typing import Any, Final

from emulator.bigquery.schema import Field
from emulator.bigquery.warehouse import Warehouse
from emulator.market_data import Series, catalogue
from emulator.market_data.bars import closing

PROJECT: Final = "emulator"  # only in the words of an error that never comes
CANDLES: Final = (
    Field("timestamp", "TIMESTAMP"),
    *(Field(name, "STRING") for name in ("exchange", "symbol", "timeframe")),
    *(Field(name, "FLOAT") for name in ("open", "high", "low", "close", "volume")),
    Field("ingested_at", "TIMESTAMP"),
)
SOURCES: Final = (
    *(Field(name, "STRING") for name in ("symbol", "exchange", "timeframe", "kind", "origin")),
    Field("candles", "INTEGER"),
    Field("from_time", "TIMESTAMP"),
    Field("to_time", "TIMESTAMP"),
)
SELECT: Final = (
    "make_timestamptz(opened * 1000000), $exchange, $symbol, $timeframe, open, high, low, close, volume, "
    "make_timestamptz(closed * 1000000)"  # ingested at the moment that it was closed
)


def market(warehouse: Warehouse) -> None:
    warehouse.create_dataset(PROJECT, "market")
    candles = warehouse.create_table(PROJECT, "market", "candles", CANDLES, "timestamp")
    sources = warehouse.create_table(PROJECT, "market", "candle_sources", SOURCES)
    found = [series for series in catalogue(warehouse.now) if len(series.bars) > 0]
    warehouse.fill(candles, SELECT, map(_columns, found))
    warehouse.load(sources, map(_told, found))


def _columns(series: Series) -> tuple[dict[str, Any], dict[str, str]]:
    bars = series.bars
    prices = {"open": bars.open, "high": bars.high, "low": bars.low, "close": bars.close, "volume": bars.volume}
    times = {"opened": bars.opened, "closed": closing(bars.opened, series.timeframe)}
    return times | prices, {"exchange": series.exchange, "symbol": series.symbol, "timeframe": series.timeframe}


def _told(series: Series) -> dict[str, Any]:
    first, last = (datetime.fromtimestamp(int(series.bars.opened[at]), UTC) for at in (0, -1))
    return {
        "symbol": series.symbol,
        "exchange": series.exchange,
        "timeframe": series.timeframe,
        "kind": series.kind,
        "origin": series.origin,
        "candles": len(series.bars),
        "from_time": first,
        "to_time": last,
    }
