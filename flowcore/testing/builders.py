"""Run documents that a test can read at a glance: `a_run(ohlcv="SUCCEEDED", charts="RUNNING")`.

Every state comes with the fields that belong to it, so that a test names only what it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.times import to_text
from flowcore.testing.world import T0

RUN_ID = "20251224-120000_BTCUSDT_a1b2c"
OHLCV = "ohlcv_1M_bigquery_all_v1"
CHARTS = "charts_1M_default_set_v1"
REPORT = "llm_report_1M_month_summary_v1"
LEASE = timedelta(seconds=600)
HOLDER = "token-of-the-holder"


def a_step(
    step_type: str,
    status: str = "PENDING",
    depends_on: Sequence[str] = (),
    at: datetime = T0,
    **fields: object,
) -> dict[str, object]:
    """A step document in a state, with what belongs to that state; a field given as None is left out."""
    step: dict[str, object] = {
        "stepType": step_type,
        "status": status,
        "dependsOn": list(depends_on),
        "createdAt": to_text(at),
        "inputs": {},
        "outputs": {},
        **_belonging_to(status, at),
        **fields,
    }
    return {key: value for key, value in step.items() if value is not None}


def a_run(
    status: str = "RUNNING",
    *,
    run_id: str = RUN_ID,
    steps: Mapping[str, Mapping[str, object]] | None = None,
    ohlcv: str = "PENDING",
    charts: str = "PENDING",
    report: str = "PENDING",
    at: datetime = T0,
    **fields: object,
) -> dict[str, object]:
    """The market-report run: candles → charts → report; or a run of the given steps."""
    if steps is None:
        steps = {
            OHLCV: a_step("OHLCV_EXPORT", ohlcv, at=at, timeframe="1M"),
            CHARTS: a_step("CHART_EXPORT", charts, [OHLCV], at=at, timeframe="1M"),
            REPORT: a_step("LLM_REPORT", report, [OHLCV, CHARTS], at=at, timeframe="1M"),
        }
    run: dict[str, object] = {
        "schemaVersion": 1,
        "runId": run_id,
        "flowKey": "scheduled_month_week_report_v1",
        "status": status,
        "createdAt": to_text(at),
        "trigger": {"type": "SCHEDULER", "source": "flow1-every-4h"},
        "scope": {"symbol": "BTCUSDT"},
        "steps": {name: dict(step) for name, step in steps.items()},
        **({"finishedAt": to_text(at)} if status in ("SUCCEEDED", "FAILED", "CANCELLED") else {}),
        **fields,
    }
    return {key: value for key, value in run.items() if value is not None}


def a_snapshot(document: Mapping[str, object], run_id: str = RUN_ID, at: datetime = T0) -> Snapshot:
    return Snapshot(run_id, document, at)


def parsed(document: Mapping[str, object], run_id: str = RUN_ID) -> Run:
    return parse_run(a_snapshot(document, run_id))


def _belonging_to(status: str, at: datetime) -> dict[str, object]:
    match status:
        case "READY":
            return {"readyAt": to_text(at)}
        case "RUNNING":
            lease = {"token": HOLDER, "expiresAt": to_text(at + LEASE)}
            return {"readyAt": to_text(at), "startedAt": to_text(at), "attempt": 1, "lease": lease}
        case "SUCCEEDED":
            return {
                "attempt": 1,
                "finishedAt": to_text(at),
                "outputs": {"gcs_uri": "gs://artifacts/some/object"},
            }
        case "FAILED":
            error = {"code": "INVALID_STEP_INPUTS", "message": "no good", "retryable": False}
            return {"attempt": 1, "failures": 1, "finishedAt": to_text(at), "error": error}
        case "SKIPPED" | "CANCELLED":
            return {"finishedAt": to_text(at)}
        case _:
            return {}
