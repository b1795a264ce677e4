"""Runs with a chart step in them, and what is needed to make charts: templates, candles, accounts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from emulator.faults import Handle
from flowcore.testing.builders import CHARTS, OHLCV, RUN_ID, a_run, a_step
from tests.functions.charts.market import candle_file, walk
from tests.functions.system import System

FOLDER = f"charts/{RUN_ID}/{CHARTS}"
KEYS = {"first": "key-of-the-first", "second": "key-of-the-second"}
REQUEST = {"theme": "dark", "studies": [{"name": "Volume"}]}


def template(**fields: object) -> dict[str, object]:
    return {
        "description": "Price and volume",
        "chartImgSymbolTemplate": "BINANCE:{symbol}",
        "request": REQUEST,
        **fields,
    }


def chart_run(
    templates: Sequence[str] = ("one", "two"),
    *,
    status: str = "READY",
    run_status: str = "RUNNING",
    inputs: dict[str, object] | None = None,
    scope: dict[str, object] | None = None,
    **more: Any,
) -> dict[str, object]:
    """Candles are there, charts are next; `minImages` and the like are inputs, the rest belongs to the step."""
    requests = {"requests": [{"chartTemplateId": name} for name in templates], "minImages": len(templates)}
    fields = {"timeframe": "1d", "retry": {"maxAttempts": 1}, **more}
    step = a_step("CHART_EXPORT", status, [OHLCV], inputs={**requests, **(inputs or {})}, **fields)
    uri = "gs://artifacts/candles.json"
    ohlcv = a_step("OHLCV_EXPORT", "SUCCEEDED", timeframe="1d", outputs={"gcs_uri": uri})
    run = a_run(run_status, steps={OHLCV: ohlcv, CHARTS: step})
    return {**run, "scope": scope} if scope else run


@dataclass
class Desk:
    """The system with templates and candles in it."""

    system: System

    def load(self, *names: str, **fields: object) -> None:
        for name in names:
            self.system.put(f"chart_templates/{name}", template(**fields))

    def start(self, document: dict[str, object]) -> dict[str, Any]:
        """Run it, and the chart step as it is afterwards."""
        self.system.put_object("candles.json", candle_file(walk(60)))
        self.system.start(document)
        return self.step()

    def step(self) -> dict[str, Any]:
        return self.system.step(RUN_ID, CHARTS)

    def manifest(self, name: str = "manifest.json") -> dict[str, Any]:
        content = self.system.object(f"{FOLDER}/{name}")
        assert content is not None, self.system.objects()
        found: dict[str, Any] = json.loads(content)
        return found

    def objects(self) -> list[str]:
        return sorted(name.removeprefix(f"{FOLDER}/") for name in self.system.objects() if name.startswith(FOLDER))

    def orders(self) -> int:
        """Calls to Chart-IMG."""
        return self.system.calls("chart_img")

    def usage(self, account: str = "first") -> dict[str, Any] | None:
        return self.system.get(f"chart_img_accounts_usage/{account}")

    def plan(self, action: Any, *, times: int | None = None, skip: int = 0, symbol: str = "*") -> Handle:
        return self.system.faults.add(
            service="chart_img", method="AdvancedChart", resource=symbol, action=action, times=times, skip=skip
        )

    @contextmanager
    def buying(self, *accounts: str, limit: int = 44, **more: str) -> Iterator[None]:
        """The worker as it is when it buys its charts."""
        secret = [{"id": name, "apiKey": KEYS[name], "dailyLimit": limit} for name in accounts or ("first",)]
        with self.system.configured(CHARTS_RENDERER="chart_img", CHART_IMG_ACCOUNTS_JSON=json.dumps(secret), **more):
            yield
