"""The flows of the cases, begun by `start_flow` under a key.

Most cases have the short one: candles, charts and a report for one timeframe. The long one takes the ways that the
short one does not: candles that are stored in pieces, charts that are bought and counted, a report that reads another
one, and candles from a file in a bucket.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowcore.adapters.candle_files import SAMPLES
from flowcore.cli.furnishing import furnished
from flowcore.cli.seeding import seeds
from flowcore.cli.world import BUCKET, World
from flowcore.engine.start import StartRequest
from tests.chaos.wire.home import ROOT

FLOW = "chaos_v1"
_SHIPPED = ROOT / "spec" / "flows" / "market_report_v1.json"
_CANDLES = "ohlcv_${timeframe}_bigquery_all_v1"
_CHARTS = "charts_${timeframe}_default_set_v1"
_SUMMARY = "llm_report_${timeframes.0}_summary_v1"
_FILE = "given/candles.parquet"  # under no run: nobody made it
_FROM_FILE = {  # after all others: in a chain every run makes the same calls
    "stepType": "OHLCV_EXPORT",
    "timeframe": "1d",
    "dependsOn": [_SUMMARY],
    "inputs": {
        "source": "file",
        "file": f"gs://{BUCKET}/{_FILE}",
        "symbol": "${symbol}",
        "timeframe": "1d",
        "exportMode": "range",
        "rangeFrom": "2024-01-01",
        "rangeTo": "2025-12-31",
    },
}
_SMALL = {"width": 320, "height": 240}  # what is drawn is no matter here, and drawing takes time
_ACCOUNTS = [{"id": name, "apiKey": name, "dailyLimit": 450} for name in ("first", "second")]  # more than all runs need


@dataclass(frozen=True, slots=True)
class Flow:
    timeframe: str
    candles_from: str  # to the end of 2025: the same ones whenever it is
    whole_up_to: int = 4 * 2**20  # bytes; more than that is stored in pieces
    further_steps: bool = False  # the summary, and candles from a file
    environment: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)  # see `host`

    def parameters(self, key: str) -> dict[str, object]:
        return {"timeframes": [self.timeframe], "mark": run_id_of(key)}

    def definition(self) -> dict[str, Any]:
        shipped: dict[str, Any] = json.loads(_SHIPPED.read_text("utf-8"))
        steps = shipped["steps"]
        if self.further_steps:
            steps["ohlcv_1d_file_all_v1"] = _FROM_FILE
        else:
            del steps[_SUMMARY]
        # By its stop sequences an auditor knows which step of which run a question to the model is from.
        shipped["parameters"]["mark"] = {"description": "of the questions to the model", "default": "none"}
        for name, step in steps.items():
            if step["stepType"] == "LLM_REPORT":
                step["inputs"]["llm"]["llmProfile"]["stopSequences"] = [f"${{mark}} {name.partition('}_')[2]}"]
        steps[_CANDLES]["inputs"] |= {"exportMode": "range", "rangeFrom": self.candles_from, "rangeTo": "2025-12-31"}
        steps[_CHARTS]["inputs"]["minImages"] = 2  # as many as are asked for: no run may do with less
        return {**shipped, "flowKey": FLOW}


SHORT = Flow("1M", "2012-01-01")
LONG = Flow(
    "1h",
    "2025-08-20",  # a little more than is stored at once
    whole_up_to=2**18,
    instead={"worker_ohlcv_export": "small_pieces"},
    further_steps=True,
    environment={"CHARTS_RENDERER": "chart_img", "CHART_IMG_ACCOUNTS_JSON": json.dumps(_ACCOUNTS)},
)


def run_id_of(key: str) -> str:
    return StartRequest(FLOW, {}, key, {}).run_id


def furnish(there: World, flow: Flow) -> None:
    """The bucket and a file in it, the seeds, and the flow's definition."""
    for seed in seeds():
        if seed.path.startswith("chart_templates/"):
            fields: dict[str, Any] = dict(seed.fields)
            there.documents.create(seed.path, {**fields, "request": {**fields["request"], **_SMALL}})
    furnished(there)
    there.storage.bucket(BUCKET).blob(_FILE).upload_from_filename(str(SAMPLES / "generated_btcusdt.parquet"))
    there.documents.create(f"flow_definitions/{FLOW}", flow.definition())
