"""The README is typed in as it stands: its files into an empty folder, its commands into a shell.

Each block of commands says, in a comment above it, where it is to be typed; a place that no test knows is a failure.
What the page lists (commands, options, exit codes, what the demo prints) is compared with what there is.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

from flowcore.cli import app
from flowcore.cli.problems import Exit
from tests.reading.markdown import tables
from tests.reading.sources import ROOT

README = (ROOT / "README.md").read_text("utf-8")
READY_WITHIN = 90.0
PROJECT = "in the project"
UP, UP_BESIDE = "flow up, in an empty folder", "flow up, in the folder of the files"
WHILE_UP, CLOUD, WHILE_UP_BESIDE = (
    "while it is up",
    "while it is up, and means the cloud",
    "while it is up, beside the files",
)
BESIDE = "beside the files"
OF_THE_CLOUD = {"--project", "--env", "--database", "--bucket", "--json", "--help"}  # told once for all commands


def commands(place: str) -> list[str]:
    """Every line that is typed there, in the order of the page."""
    blocks = re.findall(rf"<!-- run: {re.escape(place)} -->\n```sh\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def shell(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment() | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if "EMULATOR" not in name and "CLOUD" not in name}
    return {**ours, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def typed(place: str, folder: Path, **more: str) -> None:
    lines = commands(place)
    assert lines, f"nothing is typed {place}"
    for command in lines:
        done = shell(command, folder, **more)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@contextmanager
def up(place: str, folder: Path) -> Iterator[None]:
    """The platform that the page starts there."""
    (command,) = commands(place)
    with (folder / "up.log").open("w") as log:
        platform = subprocess.Popen(
            command, shell=True, cwd=folder, env=environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + READY_WITHIN
        while shell("flow env", folder).returncode:
            assert platform.poll() is None, (folder / "up.log").read_text()
            assert time.monotonic() < deadline, (folder / "up.log").read_text()
            time.sleep(0.1)
        yield
    finally:
        os.killpg(platform.pid, signal.SIGINT)
        platform.wait(60)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, and in it the files of the page."""
    place = tmp_path_factory.mktemp("readme")
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    return place


# --- what is typed ----------------------------------------------------------------------------------------


def test_every_block_of_commands_is_typed_here() -> None:
    known = (PROJECT, UP, UP_BESIDE, WHILE_UP, CLOUD, WHILE_UP_BESIDE, BESIDE)
    told = sum(len(commands(place)) for place in known)
    assert told == sum(
        block.count("\n") for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", README, re.DOTALL)
    )


def test_a_step_type_is_added_from_an_empty_folder(files: Path) -> None:
    with up(UP_BESIDE, files):
        typed(WHILE_UP_BESIDE, files)
        shown = shell("flow show first-heatmap --json", files).stdout
    assert shown.count("SUCCEEDED") >= 3, shown
    assert "runs/first-heatmap/steps/heatmap/result" in shown


def test_a_function_of_ones_own_is_tested(files: Path) -> None:
    typed(BESIDE, files)


def test_the_commands_do_what_the_page_says(tmp_path: Path) -> None:
    with up(UP, tmp_path):
        typed(WHILE_UP, tmp_path)
        (host,) = re.findall(r"export (FIRESTORE_EMULATOR_HOST)=(\S+)", shell("flow env", tmp_path).stdout)
        typed(CLOUD, tmp_path, **dict([host]))  # the same commands, to a cloud that is here


def test_the_demo_prints_what_the_page_shows(tmp_path: Path) -> None:
    done = shell("flow demo", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {without_chance(line) for line in done.stdout.splitlines()}
    said |= {line.partition(" moves")[0] + " moves" for line in said}  # whatever ends has moved
    (shown,) = re.findall(r"```text\n(the platform is up.*?)```", README, re.DOTALL)
    assert [line for line in shown.splitlines() if without_chance(line) not in said | {"…"}] == []
    (page,) = (tmp_path / "build/demo").glob("*.html")
    assert "data:image/png" in page.read_text("utf-8")


def without_chance(line: str) -> str:
    """Without times and ids. A step that is quick passes through READY and RUNNING before anybody looks."""
    line = re.sub(r"\d{8}-\d{6}_(\w+)_[0-9a-f]{5}", r"RUN of \1", line)
    line = re.sub(r"^[0-9:]{8} (\S+) \S+ → (?:(?:READY|RUNNING)$|(SUCCEEDED.*))", r"\1 moves \2", line)
    return re.sub(r"file://\S*/build|[0-9.]*[0-9](?= s\b)", "#", line).strip()


@pytest.mark.parametrize(
    ("command", "runs"),
    [("make demo", ["-m flowcore.cli demo"]), ("make test", ["-m ruff check", "-m mypy", "-m pytest -n auto"])],
)
def test_what_make_does(command: str, runs: list[str]) -> None:
    assert command in commands(PROJECT)
    planned = shell(command.replace("make", "make --dry-run"), ROOT).stdout
    assert [each for each in runs if each not in planned] == []


def test_flow_is_where_the_page_says(tmp_path: Path) -> None:
    (export,) = (line for line in commands(PROJECT) if not line.startswith("make"))
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/flow").write_text("#!/bin/sh\necho this one\n")
    (tmp_path / ".venv/bin/flow").chmod(0o755)
    assert shell(f"{export}\nflow", tmp_path).stdout == "this one\n"
    assert "VENV   := .venv\n" in (ROOT / "Makefile").read_text("utf-8")


# --- what is listed ---------------------------------------------------------------------------------------


def test_every_command_is_on_the_page_with_its_options() -> None:
    rows = {row[0].strip("`").split()[1]: " ".join(row) for row in _table("command", "what for")}
    group = typer.main.get_command(app)
    there = {name: command for name, command in group.commands.items() if not command.hidden}  # type: ignore[attr-defined]
    assert rows.keys() == there.keys()
    for name, command in there.items():
        wanted = {spelled(option.opts + option.secondary_opts, rows[name]) for option in command.params}
        told = set(re.findall(r"--[a-z-]+", rows[name]))
        assert told == wanted - OF_THE_CLOUD - {""} | ({"--project"} if name == "up" else set()), name


def spelled(names: list[str], row: str) -> str:
    """Of several names of an option the one that the page has; an argument has none."""
    options = [name for name in names if name.startswith("--")]
    return next((name for name in options if name in row), options[0] if options else "")


def test_every_exit_code_is_on_the_page() -> None:
    assert [int(row[0]) for row in _table("exit code")] == [int(code) for code in Exit]


def _table(*headings: str) -> list[list[str]]:
    (found,) = (table for table in tables(README) if tuple(table.header[: len(headings)]) == headings)
    return [list(row) for row in found.rows]
