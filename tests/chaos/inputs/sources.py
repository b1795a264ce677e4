"""What charts are drawn from, and where candles come from, spoiled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from flowcore.testing.builders import CHARTS, OHLCV
from tests.chaos.inputs import healthy
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import a_map, prepared, put

Run = dict[str, Any]
FILES: Final = ("in/candles.parquet", "in/candles.csv")
_ROWS: Final = (1, 5, 30)


# --- what the charts read ---


def drawn_candles(hostile: Hostile, stage: Stage) -> Run:
    """Prices that are numbers, and no prices."""
    stage.drawing = True
    file = healthy.candle_file(hostile.one(_DRAWN))
    for row in file["data"]:
        for name in row:
            if hostile.likely(0.1):
                row[name] = hostile.one(_ODD_FIGURES) if name != "date" else hostile.text()
    prepared(stage, candles=hostile.json_bytes(file) if hostile.likely(0.3) else json.dumps(file).encode())
    return healthy.only_the_charts()


_DRAWN: Final = (1, 2, 3, 30)
_ODD_FIGURES: Final = (
    0,
    -1.0,
    1e-300,
    1e300,
    -1e300,
    1.7e308,
    5e-324,
    float("nan"),
    float("inf"),
    10**300,
    10**400,
    "1",
    None,
)


def template(hostile: Hostile, stage: Stage) -> Run:
    stage.drawing = hostile.likely(0.15)
    prepared(stage)
    stage.shelf.fields[healthy.TEMPLATE_PATH] = a_map(hostile.spoiled(healthy.TEMPLATE_FIELDS))
    return healthy.only_the_charts()


def chart_inputs(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage)
    run = healthy.only_the_charts()
    step = run["steps"][CHARTS]
    step["inputs"], run["scope"] = a_map(hostile.spoiled(step["inputs"])), a_map(hostile.spoiled(run["scope"]))
    return run


# --- where the candles come from ---


def candle_inputs(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage)
    run = healthy.a_market_run()
    step = run["steps"][OHLCV]
    wished = {
        **step["inputs"],
        "timeframe": "1M",
        "exchange": "BINANCE",
        "rangeFrom": "2025-01-01",
        "rangeTo": "2025-12-01",
    }
    step["inputs"] = a_map(hostile.spoiled({**wished, "exportMode": hostile.one(("all", "range"))}))
    return {**run, "createdAt": hostile.value(0) if hostile.likely(0.3) else run["createdAt"]}


def rows(hostile: Hostile, stage: Stage) -> Run:
    """CSV, cut and mixed up, also cell by cell."""
    lines = healthy.candle_rows(hostile.one(_ROWS)).split(b"\n")
    for number, line in enumerate(lines):
        cells = line.split(b",")
        if hostile.likely(0.2):
            cells[hostile.chance.randrange(len(cells))] = hostile.text().encode().replace(b"\n", b" ")
        lines[number] = b",".join(cells)
    if hostile.likely(0.3):
        hostile.chance.shuffle(lines)
    content = b"\n".join(lines)
    put(stage, FILES[1], hostile.damaged(content) if hostile.likely(0.3) else content)
    return healthy.only_the_candles(FILES[1])


_TABLE: Final[dict[str, list[Any]]] = {
    **{name: ["2024-01-01T00:00:00Z"] * 2 for name in ("timestamp", "ingested_at")},
    "symbol": ["BTCUSDT"] * 2,
    "timeframe": ["1d"] * 2,
    "exchange": ["X"] * 2,
    **{name: [1.0, 2.0] for name in ("open", "high", "low", "close", "volume")},
}


def columns(hostile: Hostile, stage: Stage) -> Run:
    """Parquet, with columns of other types, or damaged."""
    odd = hostile.one(([1, 2], ["a", None], [None, None], [[1], [2]], [b"x", b"y"], [{"a": 1}, None], [True, False]))
    table = {name: odd if hostile.likely(0.15) else values for name, values in _TABLE.items() if hostile.likely(0.95)}
    content = _parquet(table)
    name = hostile.one(FILES)
    put(stage, name, hostile.damaged(content) if hostile.likely(0.4) else content)
    return healthy.only_the_candles(name)


def _parquet(table: Mapping[str, object]) -> bytes:
    file = BytesIO()
    parquet.write_table(pa.table(table), file)
    return file.getvalue()


# --- what is in order ---

SOUND: Final = frozenset(
    (
        *(json.dumps(healthy.candle_file(count)).encode() for count in _DRAWN),
        *(healthy.candle_rows(count) for count in _ROWS),
        _parquet(_TABLE),
    )
)
