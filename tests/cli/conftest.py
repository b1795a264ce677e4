"""A folder of one's own, and a project of one's own on the platform: no function listens there, so nothing moves."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.platform import Platform
from flowcore.testing.builders import RUN_ID

PROJECT = "typed"


@dataclass(frozen=True)
class Desk:
    folder: Path
    platform: Platform
    db: firestore.Client
    storage: Any

    def put(self, document: Mapping[str, object], run_id: str = RUN_ID) -> None:
        self.db.document(f"flow_runs/{run_id}").set(dict(document))

    def run(self, run_id: str = RUN_ID) -> dict[str, Any]:
        found: dict[str, Any] | None = self.db.document(f"flow_runs/{run_id}").get().to_dict()
        assert found is not None, run_id
        return found

    def statuses(self, run_id: str = RUN_ID) -> list[str]:
        """The run's, then those of its steps by their ids."""
        run = self.run(run_id)
        return [run["status"], *(step["status"] for _, step in sorted(run["steps"].items()))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are typed; there is nothing in it, and nothing around it says what world is meant."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # or a missing account is looked for in the network
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))  # where gcloud keeps accounts: there is none
    settings = ("ARTIFACTS_BUCKET", "FIRESTORE_DATABASE", "FLOW_RUNS_COLLECTION")
    for name in (*settings, "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No platform and no project, whatever other tests have set."""
    for name in ("FIRESTORE_EMULATOR_HOST", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def desk(folder: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", PROJECT)
    db, storage = firestore.Client(project=PROJECT), StorageClient(project=PROJECT)
    return Desk(folder, platform, db, storage)
