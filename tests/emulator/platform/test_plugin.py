"""The pytest plugin, in a project that has nothing but tests."""

import os
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


def run(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_project.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "emulator.pytest_plugin", "-p", "no:cacheprovider", str(folder)]
    options = ["--rootdir", str(folder), "-c", "/dev/null", "-W", "error"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # or it might be there twice, by its entry point
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False, env=alone)


def test_every_test_has_a_clean_platform(tmp_path: Path) -> None:
    done = run(tmp_path, PROJECT)
    assert "3 passed" in done.stdout, done.stdout


def test_a_failing_test_shows_what_the_platform_said(tmp_path: Path) -> None:
    done = run(tmp_path, FAILING)
    assert "1 failed" in done.stdout
    assert "toy │ I saw it coming" in done.stdout
