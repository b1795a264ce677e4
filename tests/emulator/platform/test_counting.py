"""A function that counts: every change is seen at least once, with its own payload, whatever dies meanwhile."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
import requests
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import firestore

from emulator.platform import Platform
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import connected
from tests.emulator.platform.sockets import a_free_base, listening
from tests.emulator.platform.toy_function import TOY, Writer, toy

SCALE = 500.0  # ten seconds take twenty milliseconds, a day three minutes
SIZES = [100, pytest.param(1_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("writes", SIZES)
def test_every_change_is_seen(tmp_path: Path, writes: int) -> None:
    seen, writer = tmp_path / "seen", Writer()
    with Platform(functions=[toy(seen)], time_scale=SCALE) as platform:
        with connected(platform.firestore.host, platform.project) as db:
            writer.write(db, writes)
        assert platform.settled()
        assert platform.eventarc.state.delivered == writes
    assert writer.missing(seen) == set()


@pytest.mark.parametrize("writes", SIZES)
def test_every_change_is_seen_by_a_function_that_fails_and_dies(tmp_path: Path, writes: int) -> None:
    seen, writer = tmp_path / "seen", Writer()
    with Platform(functions=[toy(seen, failing=0.3)], time_scale=SCALE) as platform:
        process = platform.functions["toy"]
        with connected(platform.firestore.host, platform.project) as db:
            for part in (writes // 2, writes):
                writer.write(db, part)
                restarts = process.restarts
                os.kill(process.pid, signal.SIGKILL)
                assert eventually(lambda before=restarts: process.restarts > before)  # type: ignore[misc]
        assert platform.settled(60)
        assert platform.eventarc.state.dead_letters == ()
        failures = [record for record in platform.faults.history.of("event") if record.detail["outcome"] != "delivered"]
    assert len(failures) > writes // 10
    assert writer.missing(seen) == set()


@pytest.mark.parametrize(("writes", "kills"), [(100, 2), pytest.param(1_000, 5, marks=pytest.mark.long)])
def test_every_change_is_seen_although_the_platform_is_killed(tmp_path: Path, writes: int, kills: int) -> None:
    seen, writer = tmp_path / "seen", Writer()
    environment = {"SEEN": str(seen), "FAILING": "0.3"}
    for kill in range(1, kills + 1):
        with a_platform(tmp_path / "data", environment) as (process, exports), client(exports) as db:
            writer.write(db, writes * kill // (kills + 1))
            threading.Timer(0.05, process.kill).start()
            with suppress(GoogleAPICallError):
                writer.write(db, writes)  # killed in the middle of it
            process.wait()
    with a_platform(tmp_path / "data", environment) as (_, exports), client(exports) as db:
        writer.write(db, writes)
        assert eventually(lambda: not pending(exports), 60)
    assert writer.missing(seen) == set()


def test_a_killed_platform_leaves_no_function_behind(tmp_path: Path) -> None:
    base, environment = a_free_base(), {"SEEN": str(tmp_path / "seen")}
    with a_platform(tmp_path / "data", environment, "--port-base", str(base)) as (process, _):
        assert listening(base + 10)
        process.kill()
        assert eventually(lambda: not listening(base + 10))


def client(exports: dict[str, str]) -> AbstractContextManager[firestore.Client]:
    return connected(exports["FIRESTORE_EMULATOR_HOST"], exports["GCLOUD_PROJECT"])


def pending(exports: dict[str, str]) -> list[object]:
    state = requests.get(f"{exports['EVENTARC_EMULATOR']}/__events", timeout=5).json()
    assert state["deadLetters"] == []
    events: list[object] = state["pending"]
    return events


@contextmanager
def a_platform(
    data_dir: Path, environment: dict[str, str], *more: str
) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    """The platform as a program, ready; ended with Ctrl-C unless it was killed."""
    command = [sys.executable, "-m", "emulator.platform", "--data-dir", str(data_dir), "--time-scale", str(SCALE)]
    command += ["--function", f"toy={TOY}:count@runs/{{id}}:written", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stdout
        exports: dict[str, str] = {}
        for line in process.stdout:
            if export := re.fullmatch(r"export (\w+)=(.*)\n", line):
                exports[export[1]] = export[2]
            if "ready in" in line:
                break
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            yield process, exports
            process.send_signal(signal.SIGINT)
            process.wait(15)
        finally:
            process.kill()
            reader.join()
