"""A table of candles, and runs that export from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from flowcore.domain.model import NO_VALUES
from flowcore.domain.times import to_text
from flowcore.testing.builders import RUN_ID, a_run, a_step
from tests.functions.system import System
from tests.ports.candles.rows import FIELDS, Row, a_row

TABLE = "test.candles"
STEP = "ohlcv_1M_bigquery_all_v1"
OBJECT = f"runs/{RUN_ID}/ohlcv/1M.json"
INPUTS = {"source": "bigquery", "symbol": "BTCUSDT", "timeframe": "1M", "exportMode": "all"}


@dataclass
class Market:
    system: System

    def holds(self, *rows: Row) -> None:
        client = bigquery.Client(credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
        client.create_dataset(TABLE.split(".", maxsplit=1)[0])
        client.create_table(
            bigquery.Table(
                f"{client.project}.{TABLE}", [bigquery.SchemaField(field["name"], field["type"]) for field in FIELDS]
            )
        )
        if rows:
            assert client.insert_rows_json(TABLE, [_wired(row) for row in rows]) == []
        client.close()  # type: ignore[no-untyped-call]
        self.system.faults.calls.clear()

    def export(
        self,
        timeframe: str = "1M",
        run_id: str = RUN_ID,
        max_attempts: int = 1,
        inputs: Mapping[str, object] = NO_VALUES,
        **more: Any,
    ) -> Step:
        """Start a run of one export, and see what became of it. An input that is None is left out."""
        asked = {**INPUTS, "timeframe": timeframe, **inputs, **more}
        given = {key: value for key, value in asked.items() if value is not None}
        step = a_step("OHLCV_EXPORT", timeframe=timeframe, inputs=given, retry={"maxAttempts": max_attempts})
        self.system.start(a_run("PENDING", run_id=run_id, steps={STEP: step}))
        return Step(self.system.step(run_id, STEP))

    def file(self, timeframe: str = "1M", run_id: str = RUN_ID) -> dict[str, Any]:
        content = self.system.object(f"runs/{run_id}/ohlcv/{timeframe}.json")
        assert content is not None
        found: dict[str, Any] = json.loads(content)
        return found

    @property
    def queries(self) -> int:
        return self.system.calls("bigquery", "jobs.query")


class Step(dict[str, Any]):
    """A step's document, with the two things that every test looks at."""

    @property
    def error(self) -> tuple[str, bool]:
        return self["error"]["code"], self["error"]["retryable"]

    @property
    def reason(self) -> str | None:
        found: str | None = self["error"].get("details", {}).get("reason")
        return found


def a_month(month: int, close: float | None = 10.0, **fields: object) -> Row:
    """The row of a month of 2025."""
    return a_row(0, close, timestamp=datetime(2025, month, 1, tzinfo=UTC), timeframe="1M", **fields)


def _wired(row: Row) -> Row:
    return {name: to_text(value) if isinstance(value, datetime) else value for name, value in row.items()}
