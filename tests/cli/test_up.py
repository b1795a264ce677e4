"""`flow up` and `flow env`: one platform a folder, found from another shell, and never mistaken for a dead one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.cli.program import ATTENTIVE, FLOW, flow, up
from tests.emulator.firestore.client import connected
from tests.emulator.platform.sockets import a_free_base, bound
from tests.emulator.platform.toy_function import ASKED, TOY


def exports(text: str) -> dict[str, str]:
    found = [line.removeprefix("export ").partition("=") for line in text.splitlines() if line.startswith("export ")]
    return {name: value for name, _, value in found}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A platform: the folder where it was started, and what it has said."""
    folder = tmp_path_factory.mktemp("running")
    with up(folder, "--project", "mine") as (_, lines):
        yield folder, "".join(lines)


def test_another_shell_finds_the_running_platform(running: tuple[Path, str]) -> None:
    folder, said = running
    (folder / "deep" / "down").mkdir(parents=True)
    told = exports(said)
    assert told["GCLOUD_PROJECT"] == "mine"
    assert requests.get(told["EVENTARC_EMULATOR"], timeout=5).ok
    for place in (folder, folder / "deep" / "down"):
        assert exports(flow(place, "env").stdout) == told


def test_what_it_prints_can_be_evaluated(running: tuple[Path, str]) -> None:
    folder, said = running
    command = f'eval "$({sys.executable} -m flowcore.cli env)" && echo $FIRESTORE_EMULATOR_HOST'
    shell = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
    assert f"export FIRESTORE_EMULATOR_HOST={shell.stdout}" in said


def test_a_folder_has_one_platform(running: tuple[Path, str]) -> None:
    second = flow(running[0], "up")
    assert second.returncode == 4
    assert second.stderr.count("\n") == 1
    assert "already" in second.stderr


def test_a_killed_platform_is_not_taken_for_a_living_one(tmp_path: Path) -> None:
    with up(tmp_path) as (process, _):
        process.kill()
        process.wait()
    found = flow(tmp_path, "env")
    assert found.returncode == 5
    assert found.stderr.splitlines() == [
        f"flow: the platform in {tmp_path} was killed (it was process {process.pid}); start one with: flow up"
    ]
    with up(tmp_path):  # and stands in nobody's way
        assert flow(tmp_path, "env").returncode == 0


def test_where_there_was_never_one_it_says_what_to_do(tmp_path: Path) -> None:
    found = flow(tmp_path, "env")
    assert found.returncode == 5
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("flow: no platform runs in")
    assert "flow up" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--function", "sweep=nowhere:sweep"], 4, "nowhere is not there"),
        (["--function", "sweep"], 2, "NAME=SOURCE:TARGET[@PATTERN:TYPE]"),
        (["--firestore", "official", "--data-dir", "kept"], 4, "keeps nothing"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, arguments: list[str], code: int, complaint: str) -> None:
    found = flow(tmp_path, "up", *arguments)
    assert found.returncode == code
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("flow: ")
    assert complaint in found.stderr


def test_a_busy_port_is_said_in_one_line(tmp_path: Path) -> None:
    base = a_free_base()
    with bound(base + 3) as other:
        other.listen()
        found = flow(tmp_path, "up", "--port-base", str(base))
    assert found.returncode == 4
    assert found.stderr.count("\n") == 1
    assert f"gemini: port {base + 3}" in found.stderr


def test_functions_are_run_and_every_move_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("WISH", "tea")
    functions = [f"toy={TOY}:count@runs/{{id}}:written", f"ask={ASKED}:answer"]
    options = [argument for function in functions for argument in ("--function", function)]
    with up(tmp_path, *options, "--single-process", "--log-dir", "logs") as (process, lines):
        told = exports("".join(lines))
        (address,) = (line.split()[-1] for line in lines if "ask is at" in line)
        assert requests.post(address, json={}, timeout=5).json()["wish"] == "tea"
        with connected(told["FIRESTORE_EMULATOR_HOST"], told["GCLOUD_PROJECT"]) as db:
            db.document("runs/r1").set({"v": 1, "status": "RUNNING"})
        assert process.stdout
        heard = {process.stdout.readline().partition("│")[2].strip() for _ in range(2)}
        process.send_signal(signal.SIGINT)
        assert "ended, and its documents and objects with it; --data-dir keeps them" in process.stdout.read()
    assert "runs/r1 status (none) → RUNNING" in heard
    assert any(line.startswith("written runs/r1 → toy: delivered") for line in heard)
    assert process.returncode == 0
    after = flow(tmp_path, "env")
    assert (after.returncode, after.stdout) == (5, "")
    assert "any more" in after.stderr
    assert "runs/r1 status (none) → RUNNING" in (tmp_path / "logs" / "firestore.log").read_text()


def test_a_program_gets_one_line_when_it_is_ready(tmp_path: Path) -> None:
    command = [*FLOW, "up", "--single-process", "--data-dir", "kept", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        ready = json.loads(process.stdout.readline())
        assert ready["pid"] == process.pid
        assert ready["exports"] == json.loads(flow(tmp_path, "env", "--json").stdout)
        assert "worker_charts" in ready["functions"]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert "flow up --data-dir kept goes on from there" in err


def test_an_impatient_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import time\ntime.sleep(60)\n")
    command = [sys.executable, "-c", ATTENTIVE, "up", "--function", "slow=.:answer"]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / ".flow" / "platform.json").exists():
            assert process.poll() is None
        assert flow(tmp_path, "env").stderr.count("still starting") == 1
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(15) == 130
        assert process.stderr
        assert process.stderr.read() == "flow: ended, and nothing is left running; flow up begins anew\n"
    assert flow(tmp_path, "env").returncode == 5


def test_help_does_not_wait_for_the_emulator(tmp_path: Path) -> None:
    script = "import sys, flowcore.cli; print('emulator.platform' in sys.modules, 'grpc' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n"
    assert "--reload" in flow(tmp_path, "up", "--help").stdout
