"""A program that is kept alive, and says so; one that is renewed is not taken for one that died."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.platform import process as module
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.process import Process, Program
from tests.emulator.eventarc.receiver import eventually

SCRIPT = "test -e good && exec sleep 60; exit 3"


@contextmanager
def running(folder: Path) -> Iterator[tuple[Process, Log]]:
    """A program that lives where there is a file called `good`, and dies at once where there is none."""
    log, guard = Log(), Guardian()
    process = Process(Program("it", 0, ["sh", "-c", SCRIPT], folder, dict(os.environ)), log, guard)
    try:
        yield process, log
    finally:
        process.stop()
        guard.dismiss()


@pytest.fixture
def long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has died once is in no hurry to come back."""
    monkeypatch.setattr(module, "FIRST_PAUSE", 5.0)


def deaths(log: Log) -> list[str]:
    return [line.partition(";")[0] for line in log.lines("it") if line.startswith("died")]


def test_one_that_dies_again_and_again_is_started_later_and_later(tmp_path: Path) -> None:
    with running(tmp_path) as (process, log):
        assert eventually(lambda: process.restarts == 2)
    pauses = [line.split()[-2] for line in log.lines("it")]
    assert pauses[:2] == ["0.2", "0.4"]


def test_one_that_is_renewed_did_not_die(tmp_path: Path) -> None:
    (tmp_path / "good").touch()
    with running(tmp_path) as (process, log):
        before = process.pid
        process.renew()
        assert eventually(lambda: process.pid != before and process.alive)
        assert deaths(log) == []
        assert process.restarts == 0


@pytest.mark.usefixtures("long_pauses")
def test_one_that_was_renewed_while_it_was_dead_still_says_when_it_dies(tmp_path: Path) -> None:
    with running(tmp_path) as (process, log):
        assert eventually(lambda: len(deaths(log)) == 1)
        (tmp_path / "good").touch()
        process.renew()
        assert eventually(lambda: process.alive)
        os.kill(process.pid, signal.SIGKILL)
        assert eventually(lambda: deaths(log) == ["died (exit code 3)", "died (SIGKILL)"])


@pytest.mark.usefixtures("long_pauses")
def test_one_that_is_renewed_while_it_was_dead_does_not_wait_any_longer(tmp_path: Path) -> None:
    with running(tmp_path) as (process, log):
        assert eventually(lambda: len(deaths(log)) == 1)
        (tmp_path / "good").touch()
        process.renew()
        assert eventually(lambda: process.alive, 3)


@pytest.mark.usefixtures("long_pauses")
def test_one_that_is_about_to_be_started_is_not_waited_for_at_the_end(tmp_path: Path) -> None:
    with running(tmp_path) as (process, log):
        assert eventually(lambda: len(deaths(log)) == 1)
        process.begin_to_stop()
        assert eventually(lambda: not process._supervisor.is_alive(), 3)
