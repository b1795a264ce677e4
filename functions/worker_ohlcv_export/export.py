"""From a source to a file, candle by candle: none but the last few are ever in memory."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, islice

from flowcore.contracts.candles import Candle, CandleQuery, CandleSource, write_candles
from flowcore.domain.artifacts import JSON, Artifact
from flowcore.domain.errors import Code, DataNotFoundError, NetworkError
from flowcore.domain.times import to_text
from flowcore.engine.context import StepContext
from flowcore.ports import Log
from functions.worker_ohlcv_export.inputs import Wish

AT_ONCE = 1_000  # candles that are asked for, and asked for again, together
_NEXT = timedelta(microseconds=1)


def export(ctx: StepContext, asked: Wish, source: CandleSource, policy: str) -> Artifact:
    """Nothing is stored of a source that has nothing: the first candle is waited for."""
    facts: dict[str, object] = {}  # known after the last candle, which is when the file and the step say them
    candles = _usable(_all(ctx, source, asked.query, policy), facts, ctx.log)
    first = next(candles, None)
    if first is None:
        raise _nothing(asked.query, facts)
    return Artifact(
        write_candles(chain((first,), candles), ChainMap(facts, asked.metadata)), JSON, outputs={"candles": facts}
    )


def _all(ctx: StepContext, source: CandleSource, query: CandleQuery, policy: str) -> Iterator[Candle]:
    reading = _Reading(source, query)
    while some := ctx.patiently(policy, reading.some):
        yield from some


@dataclass(slots=True)
class _Reading:
    """What was handed on stays handed on: after a failure only the candles after it are asked for."""

    source: CandleSource
    missing: CandleQuery
    under_way: Iterator[Candle] | None = None

    def some(self, timeout: float) -> list[Candle]:
        if self.under_way is None:
            self.under_way = self.source.candles(self.missing, timeout)
        try:
            candles = list(islice(self.under_way, AT_ONCE))
        except NetworkError:
            self.under_way = None
            raise
        if candles:
            self.missing = replace(self.missing, since=candles[-1].time + _NEXT)
        return candles


def _usable(candles: Iterator[Candle], facts: dict[str, object], log: Log) -> Iterator[Candle]:
    """A hole in the data costs its candle, not the export; how many is said. A missing price is never a zero."""
    first = last = None
    count = skipped = 0
    for candle in candles:
        if not candle.complete:
            skipped += 1
            continue
        first, last = first or candle, candle
        count += 1
        yield candle
    facts.update(count=count, skipped=skipped)
    if first and last:
        facts.update(first=to_text(first.time), last=to_text(last.time))
    log.info("candles_read", count=count, skipped=skipped)


def _nothing(query: CandleQuery, facts: Mapping[str, object]) -> DataNotFoundError:
    what = f"{query.symbol} {query.timeframe}" + (f" on {query.exchange}" if query.exchange else "")
    return DataNotFoundError(
        Code.INVALID_STEP_INPUTS,
        f"inputs: there is no complete candle of {what} from {to_text(query.since)} to {to_text(query.until)}",
        details={"reason": "no_rows", "skipped": facts["skipped"]},
    )
