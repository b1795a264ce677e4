"""`flow cost`: counted, not guessed; added up correctly; and dated."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from flowcore.cli.cost import cost
from flowcore.cli.costing import FOLDER, SWEEPS_A_DAY, Prices, bill, flows, price_table, sweeps, total
from functions.catalogue import deployables
from tests.reading.sources import ROOT

APP = typer.Typer()
APP.command()(cost)
EACH_COSTS_ONE = Prices("2026-01-01", "", {name: {"usd": 1, "per": 1} for name in price_table().table})
RUN: dict[str, Any] = {
    "steps": 3, "documentWrites": 11, "runReads": 2, "otherReads": 5, "deliveries": {"a": 11, "b": 11},
    "eventBytes": 100, "objectWrites": 4, "objectReads": 6, "queries": 0, "modelCalls": 1,
    "inputTokens": 7, "outputTokens": 3,
}  # fmt: skip
SWEEP = {"minutely": {"queries": 2}, "hourly": {"queries": 1}}


@pytest.fixture(scope="module")
def recounted() -> dict[str, Any]:
    """In a process of its own: it hosts every function, and this one may host them already."""
    script = [sys.executable, "-m", "tests.deploy.counting", "--runs=1"]
    out = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True, timeout=240).stdout
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture(scope="module")
def recount(recounted: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = recounted["market_report_v1"]["perRun"]
    return run


def test_what_is_recorded_is_what_a_run_asks_for(recount: dict[str, Any]) -> None:
    """Branches race: writes are refused and read after, and two promotions may be one write. Nothing else varies."""
    recorded = flows()["market_report_v1"]
    for name in ("steps", "objectWrites", "queries", "modelCalls", "inputTokens", "outputTokens"):
        assert recount[name] == recorded[name], "python -m tests.deploy.counting --record"
    landed = recorded["deliveries"]["advance_flow"]
    assert landed - 2 <= recount["deliveries"]["advance_flow"] <= landed, "python -m tests.deploy.counting --record"
    for name in ("documentWrites", "runReads"):
        assert abs(recount[name] - recorded[name]) <= landed
    assert recount["eventBytes"] == pytest.approx(recorded["eventBytes"], rel=0.15)


def test_every_landed_write_wakes_every_function_and_most_have_nothing_to_do(recount: dict[str, Any]) -> None:
    woken = recount["deliveries"]
    assert set(woken) == {each.name for each in deployables() if each.run_triggered}
    assert len(set(woken.values())) == 1
    landed = woken["advance_flow"]
    assert recount["documentWrites"] >= landed
    assert 1 + 2 * recount["steps"] < landed <= 1 + 3 * recount["steps"], "who is promoted with others shares a write"
    assert recount["deliveriesForNobody"] > sum(woken.values()) / 2


def test_what_is_recorded_is_what_a_sweep_asks_for_that_finds_nothing(recounted: dict[str, Any]) -> None:
    assert recounted["at_rest"]["perSweep"] == sweeps()
    assert [each["otherCalls"] for each in sweeps().values()] == [0, 0]


def test_a_bill_adds_up() -> None:
    made = bill(RUN, SWEEP, EACH_COSTS_ONE, runs=10, work_seconds=2.0)
    ours = {line.what: line.usd for line in made.orchestration}
    assert ours == {
        "writes of the run": 110,
        "reads of the run": 20,
        "functions woken": 220,
        "their seconds of CPU": pytest.approx(22),
        "their GiB-seconds": pytest.approx(22),
        "bytes of events": 4_000,  # to two triggers, in and out
    }
    assert total(made.work) == 10 * (5 + 4 + 6 + 0 + 7 + 3 + 2 + 2)
    assert [line.usd for line in made.elsewhere] == [10 * 5, 10 * 8]
    assert {line.what: line.usd for line in made.at_rest}["empty queries, a read each"] == 30 * (1_440 * 2 + 24)


def test_at_rest_only_the_sweep_costs_and_it_fits_into_the_free_tiers() -> None:
    (sweep,) = [each for each in deployables() if each.schedules]
    assert sorted(86_400 / seconds for seconds in sweep.schedules.values()) == sorted(SWEEPS_A_DAY.values())
    assert sweep.memory == "512Mi"
    rest = {line.what: line.amount for line in bill(RUN, sweeps(), EACH_COSTS_ONE, 1).at_rest}
    assert rest["empty queries, a read each"] / 30 < 50_000
    assert rest["their GiB-seconds"] < 360_000
    assert rest["their seconds of CPU"] < 180_000
    assert rest["sweeps"] < 2_000_000
    assert rest["jobs of the scheduler"] == len(sweep.schedules) <= 3


def test_every_price_says_what_it_is_of_and_where_it_was_seen_and_the_table_has_a_date() -> None:
    prices = price_table()
    assert date.fromisoformat(prices.as_of) > date(2026, 1, 1)
    for name, about in prices.table.items():
        assert about["usd"] > 0, name
        assert about["per"] >= 1, name
        assert about["of"], name
        assert about["free"], name
        assert about["seen"], name
        assert isinstance(about["verified"], bool), name


def test_a_price_that_nobody_could_verify_is_named_beside_the_bill() -> None:
    assert price_table().unverified == ["workflowsStep"]
    assert "prices that nobody could verify: workflowsStep" in CliRunner().invoke(APP, []).output
    assert json.loads(CliRunner().invoke(APP, ["--json"]).output)["unverified"] == ["workflowsStep"]


def test_a_table_of_ones_own_is_used(tmp_path: Path) -> None:
    table = json.loads((FOLDER / "prices.json").read_text())
    for about in table["prices"].values():
        about["usd"] = 0
    (tmp_path / "mine.json").write_text(json.dumps(table))
    out = CliRunner().invoke(APP, ["--prices", str(tmp_path / "mine.json"), "--json"]).output
    made = json.loads(out)
    assert {line["usd"] for part in ("orchestration", "work", "at_rest") for line in made[part]} == {0}


def test_a_flow_that_nobody_counted_is_said_to_be_so() -> None:
    result = CliRunner().invoke(APP, ["nobody_v1"])
    assert "nobody has counted nobody_v1; there are: market_report_v1" in str(result.exception)
