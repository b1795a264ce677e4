"""deploy/README.md: few enough commands, which the programs understand, and figures that are those of `flow cost`."""

import re
import shlex

import pytest
import typer
from typer.testing import CliRunner

from deploy import __main__ as deploying
from deploy import smoke
from deploy.dead_letters import tried_for
from deploy.target import target
from flowcore.cli.cost import cost
from flowcore.cli.costing import BILLED_SECONDS, bill, flows, price_table, sweeps, total
from tests.reading.sources import ROOT

TEXT = (ROOT / "deploy/README.md").read_text()


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", TEXT, re.DOTALL)
    assert found, name
    return found[1]


COMMANDS = block("commands").splitlines()


def test_ten_commands_are_enough() -> None:
    assert len(COMMANDS) <= 10


def test_every_command_is_explained() -> None:
    rows = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
    told = " ".join(rows)
    for command in COMMANDS:
        program = command.replace("deploy/", "").split()[0]
        assert program in told, command


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("deploy/deploy.sh")])
def test_the_deployment_understands_what_it_is_told(command: str) -> None:
    asked = deploying._parser().parse_args(shlex.split(command)[1:])
    assert deploying.target_of(asked) == target("dev", "my-project", "europe-west1")


def test_every_script_of_the_readme_exists_and_can_be_run() -> None:
    for name in set(re.findall(r"deploy/\w+\.sh", TEXT)):
        assert (ROOT / name).stat().st_mode & 0o111, name


def test_every_option_of_the_readme_exists(capsys: pytest.CaptureFixture[str]) -> None:
    from deploy import teardown

    for main in (deploying.main, teardown.main, smoke.main):
        with pytest.raises(SystemExit):
            main(["--help"])
    known = capsys.readouterr().out
    for option in ("--dry-run", "--rollback", "--replace-trigger", "--keep-rules", "--delete-data", "--keep", "--flow"):
        assert option in known
        assert option in TEXT


def test_the_figures_are_those_of_flow_cost() -> None:
    app = typer.Typer()
    app.command()(cost)
    assert block("cost") == CliRunner().invoke(app, []).output


def test_the_first_page_has_the_same_figures_and_what_was_counted() -> None:
    section = (ROOT / "README.md").read_text().partition("## What it costs\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")]
    run = flows()["market_report_v1"]
    made = bill(run, sweeps(), price_table(), 1_000)
    rest = {line.what: line.amount for line in made.at_rest}
    writes, woken, queries = run["documentWrites"], sum(run["deliveries"].values()), rest["empty queries, a read each"]
    ours = f"{writes} writes, {run['runReads']} reads, {woken} invocations, {run['eventBytes'] / 1000:.0f} KB of events"
    work = f"{run['modelCalls']} model calls, {run['objectWrites']} objects written, {run['objectReads']} reads"
    aws, google = made.elsewhere
    assert [cells[1:] for cells in rows[1:]] == [
        [f"{ours} a run", f"{total(made.orchestration):.3f}"],
        [f"{aws.amount / 1000:.0f} state transitions a run", f"{aws.usd:.3f}"],
        [f"{google.amount / 1000:.0f} internal steps a run", f"{google.usd:.3f}"],
        [f"{work}, {run['queries']} queries a run", f"{total(made.work):.3f}"],
        [f"{rest['sweeps']:,} sweeps, {queries:,} empty queries, 2 scheduled jobs", f"{total(made.at_rest):.3f}"],
    ]
    assert price_table().as_of in section
    assert f"{queries / 30:,.0f} reads a\nday of 50,000" in section


def test_so_many_runs_are_inside_the_free_tiers() -> None:
    """Of a month with 30 days, and of what a run costs in orchestration alone."""
    run = flows()["market_report_v1"]
    woken, triggers = sum(run["deliveries"].values()), len(run["deliveries"])
    reach = {
        "writes": 30 * 20_000 / run["documentWrites"],
        "reads": 30 * 50_000 / run["runReads"],
        "requests": 2_000_000 / woken,
        "CPU": 180_000 / (woken * BILLED_SECONDS),
        "memory": 360_000 / (woken * BILLED_SECONDS),
        "events": 10 * 2**30 / (run["eventBytes"] * triggers * 2),
    }
    assert min(reach, key=lambda name: reach[name]) == "events"
    assert f"some {min(reach.values()) // 1000 * 1000:,.0f} runs a month" in TEXT


def test_the_vectors_that_prove_a_deployment_with_runs_in_flight_are_there() -> None:
    named = re.findall(r"`([A-Z0-9]+-)\*`", TEXT)
    assert named == ["OLD-", "B23-"]
    for prefix in named:
        assert list((ROOT / "spec/vectors").glob(f"{prefix}*/case.json")), prefix


def test_the_hours_of_the_dead_letters_are_those_of_the_plan() -> None:
    assert f"that is {tried_for() / 3600:.1f} hours" in TEXT
