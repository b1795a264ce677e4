"""Files behind `CandleSource`: CSV or Parquet with the columns of the table, in a bucket or shipped with the package.

A file is read forward, some rows at a time, because it may be larger than the memory. So the candles that are asked for
must lie in it in the order of time, as exports do; a file that jumps back is refused and not sorted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import reduce
from itertools import chain, groupby
from math import nan
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyarrow import csv, parquet

from flowcore.contracts.candles import Candle, CandleQuery
from flowcore.domain.errors import Code, DataNotFoundError, NetworkError, ValidationError
from flowcore.domain.times import to_text

Opened = Callable[[str, float], AbstractContextManager[BinaryIO]]

# What is in there was made up by `emulator.market_data`: no such trade ever took place.
SAMPLES = Path(__file__).parents[1] / "samples"
_ROWS = 4_096
_CSV_BLOCK = 2**17  # bytes: more than a thousand rows
_MOMENT = pa.timestamp("us", tz="UTC")
_FIGURES = ("open", "high", "low", "close", "volume")
_NEEDED = {
    "timestamp": _MOMENT,
    "symbol": pa.string(),
    "timeframe": pa.string(),
    **dict.fromkeys(_FIGURES, pa.float64()),
}
_OPTIONAL = {"exchange": pa.string(), "ingested_at": _MOMENT}
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def packaged(name: str, timeout: float) -> Iterator[BinaryIO]:  # noqa: ARG001 - a file on disk is there or not
    """A file that ships with flowcore."""
    known = sorted(path.name for path in SAMPLES.iterdir())
    if name not in known:
        raise DataNotFoundError(
            Code.INVALID_STEP_INPUTS, f"inputs.file: {name!r} is no packaged file; there are {', '.join(known)}"
        )
    with (SAMPLES / name).open("rb") as file:
        yield file


class FileCandles:
    """The candles of one file."""

    def __init__(self, name: str, opened: Opened) -> None:
        self._name = name
        self._opened = opened

    def candles(self, query: CandleQuery, timeout: float) -> Iterator[Candle]:
        ends = time.monotonic() + timeout
        with self._opened(self._name, timeout) as file, self._understood():
            rows = chain.from_iterable(self._rows(batch, query) for batch in self._batches(file, ends))
            last = _LONG_AGO
            for moment, same in groupby(rows, key=lambda row: row.candle.time):
                if moment < last:
                    raise self._refused(
                        "unsorted",
                        f"{to_text(moment)} comes after {to_text(last)}; sort it by time, or name an exchange",
                    )
                last = moment
                yield min(same, key=_preference).candle

    def _batches(self, file: BinaryIO, ends: float) -> Iterator[pa.RecordBatch]:
        for batch in _reader(self._name, file):
            yield batch
            if time.monotonic() > ends:
                raise NetworkError(Code.GCS_READ_FAILED, f"{self._name} could not be read in time")

    def _rows(self, batch: pa.RecordBatch, query: CandleQuery) -> Iterator[_Row]:
        """The rows that are asked for. They are chosen by the column; only these become objects of Python."""
        there = batch.schema.names
        if query.exchange and "exchange" not in there:
            raise self._refused("no_exchange", "it has no column exchange; leave inputs.exchange out")
        columns = {name: batch.column(name).cast(kind) for name, kind in _NEEDED.items()}
        for name, kind in _OPTIONAL.items():
            columns[name] = batch.column(name).cast(kind) if name in there else pa.nulls(len(batch), kind)
        wanted = [
            pc.greater_equal(columns["timestamp"], pa.scalar(query.since, _MOMENT)),
            pc.less_equal(columns["timestamp"], pa.scalar(query.until, _MOMENT)),
            pc.equal(columns["symbol"], query.symbol),
            pc.equal(columns["timeframe"], query.timeframe),
            *([pc.equal(columns["exchange"], query.exchange)] if query.exchange else []),
        ]
        chosen = pa.RecordBatch.from_pydict(columns).filter(reduce(pc.and_, wanted))
        figures = [chosen.column(name).fill_null(nan).to_pylist() for name in _FIGURES]
        others = [chosen.column(name).to_pylist() for name in ("timestamp", *_OPTIONAL)]
        for moment, exchange, ingested, *five in zip(*others, *figures, strict=True):
            yield _Row(Candle(moment, *five), exchange or "", ingested or _LONG_AGO)

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, KeyError, ValueError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and type(error) is not OSError:
                raise  # a connection's; Arrow has no name of its own for a damaged file
            # Arrow quotes what it could not read, and that is not ours to publish.
            needed = ", ".join(_NEEDED)
            raise self._refused("unreadable", f"it is not CSV or Parquet with {needed} (RFC 3339, numbers)") from error

    def _refused(self, reason: str, why: str) -> ValidationError:
        return ValidationError(
            Code.INVALID_STEP_INPUTS, f"inputs.file: {self._name}: {why}", details={"reason": f"file_{reason}"}
        )


class _Row(NamedTuple):
    candle: Candle
    exchange: str
    ingested: datetime


def _preference(row: _Row) -> tuple[Any, ...]:
    """The first of several rows for one moment; the figures are there so that the choice is never a matter of luck."""
    candle = row.candle
    figures = (candle.open, candle.high, candle.low, candle.close, candle.volume)
    return (not candle.complete, row.exchange, _LONG_AGO - row.ingested, *figures)


def _reader(name: str, file: BinaryIO) -> Iterator[pa.RecordBatch]:
    if name.endswith(".parquet"):
        source = parquet.ParquetFile(file, pre_buffer=False)
        there = [column for column in (*_NEEDED, *_OPTIONAL) if column in source.schema_arrow.names]
        return iter(source.iter_batches(batch_size=_ROWS, columns=there, use_threads=False))
    return iter(
        csv.open_csv(
            file,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
            convert_options=csv.ConvertOptions(column_types={**_NEEDED, **_OPTIONAL}),
        )
    )
