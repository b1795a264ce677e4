"""advance_flow and sweep, through real events."""

from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run
from tests.functions.system import System


def test_a_new_run_begins(system: System) -> None:
    run_id = system.start(a_run("PENDING"))
    run = system.run(run_id)
    assert run["status"] == "RUNNING"
    assert [run["steps"][step]["status"] for step in (OHLCV, CHARTS, REPORT)] == ["READY", "PENDING", "PENDING"]
