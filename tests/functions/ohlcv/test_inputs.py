"""From which moment a run is seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from functions.worker_ohlcv_export.inputs import ALL, Inputs, as_of, wish

BEGAN = datetime(2025, 12, 24, 12, tzinfo=UTC)
CLAIMED = BEGAN + timedelta(minutes=5)
NOW = BEGAN + timedelta(minutes=6)
RUN = Run("20251224-120000_BTCUSDT_a1b2c", RunStatus.RUNNING, scope={"symbol": "BTCUSDT"}, created_at=BEGAN)
STEP = Step("s", "OHLCV_EXPORT", StepStatus.RUNNING, timeframe="4h", started_at=CLAIMED)
WHOLE = Inputs.read({"source": "bigquery", "exportMode": "all"})


@pytest.mark.parametrize(
    ("created", "moment"),
    [(BEGAN, BEGAN), (NOW + timedelta(seconds=1), NOW), (None, CLAIMED)],
    ids=["its own time", "ahead of us", "not said"],
)
def test_a_run_is_seen_from_its_own_time(created: datetime | None, moment: datetime) -> None:
    assert as_of(replace(RUN, created_at=created), STEP, NOW) == moment


def test_a_candle_that_closes_as_the_run_begins_is_closed() -> None:
    query = wish(WHOLE, RUN, STEP, NOW).query
    assert (query.since, query.until) == (BEGAN - ALL, BEGAN - timedelta(hours=4))


def test_every_attempt_asks_for_the_same() -> None:
    later = replace(STEP, attempt=7, started_at=CLAIMED + timedelta(days=1))
    assert wish(WHOLE, RUN, later, NOW + timedelta(days=1)) == wish(WHOLE, RUN, STEP, NOW)


def test_the_inputs_symbol_comes_before_that_of_the_run() -> None:
    named = Inputs.read({"source": "bigquery", "exportMode": "all", "symbol": "ETHUSDT"})
    assert wish(named, RUN, STEP, NOW).query.symbol == "ETHUSDT"
    assert wish(WHOLE, RUN, STEP, NOW).query.symbol == "BTCUSDT"
