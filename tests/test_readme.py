"""The README is typed in as it stands: its files into an empty folder, its commands into a shell."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reading.sources import ROOT

README = (ROOT / "README.md").read_text("utf-8")
READY_WITHIN = 90.0
UP = re.search(r"<!-- run: up -->\n```sh\n(flow up .*)\n```", README)


def files() -> dict[str, str]:
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL))


def commands() -> list[str]:
    """Every line of every block of commands, in the order of the page."""
    return [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=180
    )


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if "EMULATOR" not in name and "CLOUD" not in name}
    return {**ours, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder, the files of the page, and the platform that the page starts in it."""
    place = tmp_path_factory.mktemp("readme")
    for name, text in files().items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    assert UP, "the page starts no platform"
    with (place / "up.log").open("w") as log:
        platform = subprocess.Popen(
            UP[1], shell=True, cwd=place, env=environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + READY_WITHIN
        while shell("flow env", place).returncode:
            assert platform.poll() is None, (place / "up.log").read_text()
            assert time.monotonic() < deadline, (place / "up.log").read_text()
            time.sleep(0.1)
        yield place
    finally:
        os.killpg(platform.pid, signal.SIGINT)
        platform.wait(60)


def test_a_step_type_is_added_from_an_empty_folder(folder: Path) -> None:
    typed = [line for line in commands() if "heatmap" in line and not line.startswith("flow up")]
    assert len(typed) == 3
    for command in typed:
        done = shell(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    shown = shell("flow show first-heatmap --json", folder).stdout
    assert shown.count("SUCCEEDED") >= 3, shown
    assert "runs/first-heatmap/steps/heatmap/result" in shown


def test_every_other_command_does_what_the_page_says(folder: Path) -> None:
    typed = [line for line in commands() if line.startswith("flow") and "heatmap" not in line and line != "flow up"]
    assert typed, "no commands found"
    for command in typed:
        done = shell(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_make_demo_is_the_demo(tmp_path: Path) -> None:
    assert "make demo" in commands()
    planned = shell("make --dry-run demo", ROOT).stdout.splitlines()
    assert [line for line in planned if line.endswith("-m flowcore.cli demo")], planned
    done = shell(f"flow demo --output {tmp_path}", ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    (page,) = tmp_path.glob("*.html")
    assert "data:image/png" in page.read_text("utf-8")


def test_nothing_else_is_typed() -> None:
    assert {line.split()[0] for line in commands()} == {"flow", "make"}
