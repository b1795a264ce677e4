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


def test_the_hours_of_the_dead_letters_are_those_of_the_plan() -> None:
    assert f"that is {tried_for() / 3600:.1f} hours" in TEXT
