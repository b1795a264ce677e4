"""The pytest plugin, in a project that has nothing but tests."""

import subprocess
import sys
from pathlib import Path

PROJECT = """
import sys
import pytest


def test_a_test_without_the_platform_does_not_pay_for_it():
    assert "emulator.platform" not in sys.modules

@pytest.fixture(scope="session")
def platform_options():
    return {"project": "other"}

@pytest.fixture(scope="session")
def db(platform):
    from google.cloud import firestore
    client = firestore.Client()
    yield client
    client.close()

@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_begins_with_nothing(platform, db, faults, calls, turn):
    from emulator.faults import status
    assert db.project == "other"
    assert not faults.planned and calls.count() == 0
    assert not db.document("a/b").get().exists
    db.document("a/b").set({"v": 1})
    platform.storage.store.create_bucket("kept", {})
    assert calls.count("firestore", "Commit", "a/b") == 1
    faults.add(service="firestore", action=status(503))

"""

FAILING = """
def test_a_failure_shows_what_was_said(platform):
    platform.log.tell("toy", "I saw it coming")
    assert False
"""


def run(folder: Path, text: str, *options: str) -> str:
    """What pytest says, in a folder without settings, with all plugins that are installed."""
    (folder / "test_project.py").write_text(text)
    command = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", str(folder)]
    command += ["--rootdir", str(folder), "-c", "/dev/null", "-W", "error"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def test_every_test_has_a_clean_platform_and_a_failing_one_shows_what_it_said(tmp_path: Path) -> None:
    said = run(tmp_path, PROJECT + FAILING)
    assert "1 failed, 3 passed" in said, said
    assert "toy │ I saw it coming" in said


def test_whoever_names_it_gets_it_once(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_nothing(): pass", "-p", "emulator.pytest_plugin", "--fixtures")
    assert said.count("platform_options [session scope]") == 1, said


def test_it_costs_nothing_to_those_who_do_not_ask(tmp_path: Path) -> None:
    script = "import pytest, sys; had = set(sys.modules); import emulator.pytest_plugin; print(*set(sys.modules) - had)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert sorted(found.stdout.split()) == ["emulator", "emulator.pytest_plugin"]
