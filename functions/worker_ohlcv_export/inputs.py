"""What an OHLCV_EXPORT may be asked for, and which candles that means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

from flowcore.contracts.candles import TIMEFRAMES, CandleQuery, last_closed
from flowcore.domain import times
from flowcore.domain.errors import Code, ValidationError, shown
from flowcore.domain.model import Run, Step
from flowcore.inputs import StepInputs

ALL = timedelta(days=5_475)  # fifteen years

_SYMBOL = re.compile(r"[A-Z0-9]+([._-][A-Z0-9]+)*")
_EXCHANGE = re.compile(r"[A-Za-z0-9]+([ ._-][A-Za-z0-9]+)*")
_LONGEST = 40
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Inputs(StepInputs):
    source: Literal["bigquery", "file"]
    export_mode: Literal["all", "range"]
    symbol: str | None = None
    timeframe: str | None = None
    exchange: str | None = None
    range_from: object = None  # text, or a Timestamp of Firestore
    range_to: object = None
    file: str | None = None
    # Older documents name their table. It is the deployment's now, and to read another one silently would be worse.
    dataset: None = None
    table: None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """The query, and what the file will say of it: the same for every attempt, so there is no clock in it."""

    query: CandleQuery
    metadata: dict[str, object]
    file: str | None = None


def wish(inputs: Inputs, run: Run, step: Step, now: datetime) -> Wish:
    """What is asked for, or a `ValidationError` that names the input."""
    symbol = _matching("symbol", run.scope.get("symbol") if inputs.symbol is None else inputs.symbol, _SYMBOL)
    timeframe = _timeframe(inputs, step)
    exchange = None if inputs.exchange is None else _matching("exchange", inputs.exchange, _EXCHANGE)
    moment = as_of(run, step, now)
    asked: dict[str, object]
    if inputs.export_mode == "all":
        since, until, asked = moment - ALL, moment, {"days": ALL.days}
    else:
        since, until = _bound("rangeFrom", inputs.range_from, time.min), _bound("rangeTo", inputs.range_to, time.max)
        asked = {"range_from": inputs.range_from, "range_to": inputs.range_to}
        if since > until:
            raise _invalid("rangeFrom", "is after rangeTo; exchange the two")
    file = _file(inputs)
    metadata: dict[str, object] = {
        "symbol": symbol,
        "timeframe": timeframe,
        "query_type": inputs.export_mode,
        "query_parameters": asked,
        "source": inputs.source,
        **({"file": file} if file else {}),
        **({"exchange": exchange} if exchange else {}),
    }
    return Wish(
        CandleQuery(symbol, timeframe, since, min(until, last_closed(moment, timeframe)), exchange), metadata, file
    )


def as_of(run: Run, step: Step, now: datetime) -> datetime:
    """The moment that decides which candles are closed: that of the run, and not of the attempt.

    So every timeframe of a run is seen from the same moment, and a retry asks for the same candles. A run that does not
    say when it was created is seen from the claim. What lies ahead is not closed, whatever a document says.
    """
    return min(run.created_at or step.started_at or now, now)


def _file(inputs: Inputs) -> str | None:
    if inputs.source == "file" and not inputs.file:
        raise _invalid("file", "is missing; with source file it is a gs:// URI or the name of a packaged file")
    return inputs.file if inputs.source == "file" else None


def _timeframe(inputs: Inputs, step: Step) -> str:
    timeframe = step.timeframe if inputs.timeframe is None else inputs.timeframe
    if timeframe is None or timeframe not in TIMEFRAMES:
        raise _invalid("timeframe", f"{shown(timeframe)} is not one of {', '.join(TIMEFRAMES)}")
    if timeframe != step.timeframe:
        # The object is named by the step's own; others would take it for what its name says.
        raise _invalid("timeframe", f"{shown(timeframe)} is not the step's own timeframe, {shown(step.timeframe)}")
    return timeframe


def _matching(name: str, value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not pattern.fullmatch(value):
        raise _invalid(name, f"{shown(value)} does not match {pattern.pattern}")
    return value


def _bound(name: str, value: object, within_day: time) -> datetime:
    """A moment, or a date: then the whole day is meant."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        value = f"{value}T{within_day.isoformat()}Z"
    moment = times.from_value(value)
    if moment is None:
        raise _invalid(name, f"{shown(value)} is neither a date nor RFC 3339 with an offset")
    return moment


def _invalid(name: str, why: str) -> ValidationError:
    path = f"inputs.{name}"
    return ValidationError(Code.INVALID_STEP_INPUTS, f"{path}: {why}", details={"path": path})
