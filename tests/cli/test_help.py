"""`flow --help`: at once, because nothing is imported that only some command needs."""

import os
import re
import subprocess
import sys

import pytest

from flowcore.cli import PANELS
from tests.cli.typing_it import typed

COMMANDS = sorted(command.__name__.rstrip("_") for commands in PANELS.values() for command in commands)
HEAVY = (
    "google.api_core",
    "google.auth",
    "google.cloud.",
    "grpc",
    "pydantic",
    "requests",
    "jsonschema",
    "jinja2",
    "emulator.platform",
    "flowcore.domain.plan",
)


def test_help_loads_nothing_that_only_a_command_needs() -> None:
    listed = "import sys; from flowcore.cli import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True, timeout=60)
    loaded = said.stdout.splitlines()[-1].split()
    assert "typer" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def test_every_command_is_listed() -> None:
    said = typed("--help")
    assert (said.code, said.err) == (0, "")
    assert set(COMMANDS) <= set(re.findall(r"^│ ([a-z]+) ", said.out, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    said = typed(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert f"flow {command}" in said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_programs_too(command: str) -> None:
    assert "--json" in typed(command, "--help").out


@pytest.mark.parametrize(("typed_so_far", "offered"), [("flow ru", ["run", "runs"]), ("flow retry --s", ["--skip"])])
def test_shells_can_complete(typed_so_far: str, offered: list[str]) -> None:
    assert "--install-completion" in typed("--help").out
    words = typed_so_far.split()
    asked = {"_FLOW_COMPLETE": "complete_bash", "COMP_WORDS": typed_so_far, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-m", "flowcore.cli"]
    said = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == offered
