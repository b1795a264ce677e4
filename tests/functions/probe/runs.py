"""Run documents for the tests of the platform: of steps that nobody serves, or that the probe does."""

from collections.abc import Mapping
from datetime import UTC, datetime

from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import apply
from flowcore.domain.plan import plan
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step
from tests.functions.probe.provider import Provider

NOBODYS = "HEATMAP"  # a step type without a worker: its steps stay as the orchestrator, or the test, puts them
PROBE_RUN = "probe-run"
BEFORE, WORK = "before", "work"  # the steps of the probe's run: one that is done, and the one that it is about
OBJECT = f"runs/{PROBE_RUN}/steps/{WORK}/result"


def three(
    status: str = "RUNNING", ohlcv: str = "PENDING", charts: str = "PENDING", report: str = "PENDING", **fields: object
) -> dict[str, object]:
    """Candles → charts → report, though nobody is there who would make them."""
    now = datetime.now(UTC)
    steps = {
        OHLCV: a_step(NOBODYS, ohlcv, at=now),
        CHARTS: a_step(NOBODYS, charts, [OHLCV], at=now),
        REPORT: a_step(NOBODYS, report, [OHLCV, CHARTS], at=now),
    }
    return {**a_run(status, steps=steps, at=now), **fields}


def probing(
    provider: Provider,
    status: str = "READY",
    *,
    before: str = "SUCCEEDED",
    steps: Mapping[str, Mapping[str, object]] | None = None,
    run_status: str = "RUNNING",
    **fields: object,
) -> dict[str, object]:
    """A run whose one step is the probe's, as the orchestrator leaves it when it has nothing more to do."""
    now = datetime.now(UTC)
    inputs = {"provider": provider.url}
    steps = steps or {WORK: a_step("PROBE", status, [BEFORE], at=now, inputs=inputs, **fields)}
    done = a_step(NOBODYS, before, at=now)
    return planned(a_run(run_status, run_id=PROBE_RUN, steps={BEFORE: done, **steps}, at=now), now)


def planned(document: Mapping[str, object], now: datetime) -> dict[str, object]:
    """With `wakeAt` and whatever else is due, so that a worker is alone with its run."""
    snapshot = Snapshot(str(document["runId"]), document, now)
    return apply(document, plan(parse_run(snapshot), now))


def statuses(document: Mapping[str, object]) -> dict[str, str]:
    steps = document["steps"]
    assert isinstance(steps, dict)
    return {step_id: str(step["status"]) for step_id, step in steps.items()}
