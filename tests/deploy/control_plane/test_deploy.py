"""From nothing to a finished run, by the scripts of deploy/ and the real gcloud, on the control plane; and back again.

The sources are copied first: who deploys while somebody edits deploys something else the second time, and rightly so.
Every function gets its own requirements installed, and nothing else.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.cloud import firestore

from deploy.smoke import FLOW, run_document
from deploy.target import target
from emulator.control_plane import Cloud
from emulator.platform import Platform
from tests.deploy.control_plane.conftest import Ended
from tests.emulator.control_plane.asking import HERE, PROJECT, REGION, Asking
from tests.emulator.firestore.client import connected

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]
COPIED = ("deploy", "flowcore", "functions", "llm_schemas", "requirements", "spec", "pyproject.toml")
DEV = target("dev", PROJECT, REGION)


@pytest.fixture(scope="module")
def bare() -> Iterator[Cloud]:
    """A cloud in which nothing is prepared."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: nothing is deployed with the real one")
    with Cloud(Platform(time_scale=100.0), cache=ROOT / "build/interpreters") as cloud:
        yield cloud


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


class Scripts:
    """`deploy/NAME.sh`, for one environment of the cloud."""

    def __init__(self, cloud: Cloud, tree: Path, environment: str) -> None:
        self._cloud, self._tree, self._environment = cloud, tree, environment

    def __call__(self, name: str, *words: str, typed: str = "") -> Ended:
        others = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDSDK_")}
        where = ("--env", self._environment, "--project", PROJECT, "--region", REGION)
        return subprocess.run(
            [self._tree / f"deploy/{name}.sh", *where, *words],
            env=others | self._cloud.exports,  # with the key that becomes a secret
            input=typed,
            capture_output=True,
            text=True,
            timeout=3_600,
            check=False,
        )

    def done(self, name: str, *words: str, typed: str = "") -> str:
        ended = self(name, *words, typed=typed)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout.strip()

    def runs(self, *words: str) -> bool:
        """Whether a run ends well here."""
        return self.done("smoke", "--seconds", "240", *words).endswith("SUCCEEDED")


@pytest.fixture(scope="module")
def dev(bare: Cloud, tree: Path) -> Scripts:
    scripts = Scripts(bare, tree, "dev")
    first = scripts.done("deploy")
    assert re.search(r"^\d+ done, 0 were there already$", first, re.MULTILINE), first
    return scripts


@pytest.fixture
def ask(bare: Cloud) -> Asking:
    return Asking(bare.control_plane.url)


def changes(cloud: Cloud) -> list[str]:
    """What was created, changed or deleted so far: on the control plane, buckets, objects and documents."""
    records = cloud.platform.faults.history.since(0).records
    return [f"{each.method} {each.resource}" for each in records if each.kind in {"resource", "bucket", "write"}]


def functions(cloud: Cloud, since: int) -> set[str]:
    """Those that were changed since so many changes."""
    found = (change.partition("/functions/")[2] for change in changes(cloud)[since:] if "/functions/" in change)
    return set(found)


def test_every_kind_of_step_runs_and_a_second_deployment_changes_nothing(bare: Cloud, dev: Scripts) -> None:
    assert dev.runs("--flow", "spec/flows/market_report_v1.json")
    before = changes(bare)
    second = dev.done("deploy")
    assert changes(bare) == before, "not even a document is written, though the seeds are sown again: " + second
    assert dev.runs()


def test_two_environments_live_side_by_side_and_one_goes_without_the_other(
    bare: Cloud, tree: Path, dev: Scripts, ask: Asking
) -> None:
    staging = Scripts(bare, tree, "staging")
    staging.done("deploy")
    bare.platform.faults.history.clear()
    assert staging.runs("--keep")
    told = {note.method for note in bare.platform.faults.history.of("event")}
    assert {name.partition("-")[0] for name in told} == {"staging"}
    assert dev.runs()

    def there(*names: str) -> list[bool]:
        return [ask("GET", name).status == 200 for name in names]

    sweep = f"cloudfunctions/v2/{HERE}/functions/staging-sweep"
    bucket, secret = f"storage/v1/b/{PROJECT}-staging-artifacts", f"secretmanager/v1/projects/{PROJECT}/secrets"
    with connected(bare.platform.firestore.host, PROJECT) as db:
        kept = db.collection("staging_flow_runs")
        assert staging("teardown", typed="yes\n").returncode == 1
        assert there(sweep) == [True], "it was asked, and did not get the name of the environment"
        staging.done("teardown", typed="staging\n")
        assert there(sweep, bucket, f"{secret}/staging-gemini-api-key") == [False, True, True]
        assert len(list(kept.stream())) == 1
        assert "was gone" in staging.done("teardown", "--delete-data", typed="staging\n")
        assert there(bucket, f"{secret}/staging-gemini-api-key") == [False, False]
        assert not list(kept.stream())
    accounts = bare.control_plane.resources.list("iam", "projects/*/serviceAccounts/*")
    assert not [name for name in accounts if name.id.startswith("staging-")]
    assert dev.runs(), "the other environment has lost nothing"


def test_an_update_under_runs_replaces_only_what_has_changed_and_goes_back(
    bare: Cloud, tree: Path, dev: Scripts, ask: Asking
) -> None:
    charts = tree / "functions/worker_charts/main.py"
    old, before = charts.read_text(), ask.described("dev-worker-charts")["labels"]
    since = len(changes(bare))
    charts.write_text(f"{old}\n# newer\n")
    with connected(bare.platform.firestore.host, PROJECT) as db, runs_being_started(db) as started:
        dev.done("deploy")
        assert ask.described("dev-worker-charts")["labels"] != before
        charts.write_text(old)
        dev.done("deploy", "--rollback")
    assert ask.described("dev-worker-charts")["labels"] == before
    assert functions(bare, since) == {"dev-worker-charts"}
    assert len(started) > 5
    assert set(started.values()) == {"SUCCEEDED"}, started


@contextmanager
def runs_being_started(db: firestore.Client) -> Iterator[dict[str, str]]:
    """A run every few seconds; afterwards, how each of them has ended."""
    ended, over = dict[str, str](), threading.Event()
    definition: dict[str, Any] = json.loads(FLOW.read_text())
    runs = db.collection(DEV.runs_collection)

    def start() -> None:
        while not over.is_set():
            run_id = f"under-way-{len(ended)}"
            runs.document(run_id).create(run_document(DEV, definition, run_id, datetime.now(UTC)))
            ended[run_id] = ""
            over.wait(4.0)

    starting = threading.Thread(target=start)
    starting.start()
    try:
        yield ended
    finally:
        over.set()
        starting.join()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not all(status == "SUCCEEDED" for status in ended.values()):
        ended.update({each.id: each.get("status") for each in runs.stream() if each.id in ended})
        time.sleep(1.0)


def test_another_trigger_is_refused_until_it_is_said_aloud(bare: Cloud, dev: Scripts, ask: Asking) -> None:
    path = f"cloudfunctions/v2/{HERE}/functions/dev-advance-flow"
    other = {"eventTrigger": {"eventType": "google.cloud.firestore.document.v1.updated"}}
    ask.done("cloudfunctions", ask("PATCH", f"{path}?updateMask=eventTrigger.eventType", other))
    before = changes(bare)
    refused = dev("deploy")
    assert (refused.returncode, "say --replace-trigger" in refused.stderr) == (1, True)
    assert changes(bare) == before
    dev.done("deploy", "--replace-trigger")
    assert ask.described("dev-advance-flow")["eventTrigger"]["eventType"].endswith(".written")
    assert dev.runs()
