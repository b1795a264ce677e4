"""The flow of every case: candles, charts and a report for one timeframe, begun by `start_flow` under a key."""

from __future__ import annotations

import json
from typing import Any

from flowcore.cli.furnishing import furnished
from flowcore.cli.seeding import seeds
from flowcore.cli.world import World
from flowcore.engine.start import StartRequest
from tests.chaos.wire.home import ROOT

FLOW = "chaos_v1"
PARAMETERS = {"timeframes": ["1M"]}
_SHIPPED = ROOT / "spec" / "flows" / "market_report_v1.json"
_CHARTS = "charts_${timeframe}_default_set_v1"
_SUMMARY = "llm_report_${timeframes.0}_summary_v1"
_SMALL = {"width": 320, "height": 240}  # what is drawn is no matter here, and drawing takes time


def run_id_of(key: str) -> str:
    return StartRequest(FLOW, PARAMETERS, key, {}).run_id


def furnish(there: World) -> None:
    """The bucket, the seeds, and the flow's definition."""
    for seed in seeds():
        if seed.path.startswith("chart_templates/"):
            fields: dict[str, Any] = dict(seed.fields)
            there.documents.create(seed.path, {**fields, "request": {**fields["request"], **_SMALL}})
    furnished(there)
    definition = json.loads(_SHIPPED.read_text("utf-8"))
    del definition["steps"][_SUMMARY]
    definition["steps"][_CHARTS]["inputs"]["minImages"] = 2  # as many as are asked for: no run may do with less
    there.documents.create(f"flow_definitions/{FLOW}", {**definition, "flowKey": FLOW})
