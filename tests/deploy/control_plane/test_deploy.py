"""From nothing to a finished run: deploy/deploy.sh with the real gcloud, on the control plane; and again, for nothing.

The sources are copied first: who deploys while somebody edits deploys something else the second time, and rightly so.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.control_plane import Cloud
from emulator.platform import Platform
from tests.deploy.control_plane.conftest import answered

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]
TARGET = ("--env", "dev", "--project", "demo-local", "--region", "europe-west1")
COPIED = ("deploy", "flowcore", "functions", "llm_schemas", "requirements", "spec", "pyproject.toml")


@pytest.fixture(scope="module")
def bare() -> Iterator[Cloud]:
    """A cloud in which nothing is prepared."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: nothing is deployed with the real one")
    with Cloud(Platform(time_scale=100.0), install=False) as cloud:
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
    return folder


def said(cloud: Cloud, tree: Path, module: str, *words: str) -> str:
    others = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDSDK_")}
    return answered(
        subprocess.run(
            [sys.executable, "-m", module, *TARGET, *words],
            cwd=tree,
            env=others | cloud.exports,  # with the key that becomes a secret
            capture_output=True,
            text=True,
            timeout=1_500,
            check=False,
        )
    )


def changes(cloud: Cloud) -> list[str]:
    """What was created, changed or deleted on the control plane so far."""
    records = cloud.platform.faults.history.since(0).records
    return [f"{each.method} {each.resource}" for each in records if each.kind in {"resource", "bucket"}]


def test_a_deployment_runs_flows_and_a_second_one_changes_nothing(bare: Cloud, tree: Path) -> None:
    first = said(bare, tree, "deploy")
    assert re.search(r"^\d+ done, 0 were there already$", first, re.MULTILINE), first
    report = ("--flow", "spec/flows/market_report_v1.json", "--seconds", "240")  # with every kind of step in it
    assert said(bare, tree, "deploy.smoke", *report).endswith("SUCCEEDED")

    before = changes(bare)
    second = said(bare, tree, "deploy")
    assert changes(bare) == before, second
    assert said(bare, tree, "deploy.smoke", "--seconds", "120").endswith("SUCCEEDED")
