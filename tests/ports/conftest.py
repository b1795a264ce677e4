"""Each port twice: the twin, and the adapter with the unmodified client library against the local platform."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.platform import Platform
from flowcore.adapters.firestore import FirestoreDocuments, FirestoreRuns
from flowcore.adapters.gcs import GcsArtifacts
from flowcore.ports import Artifacts, Documents, Runs
from flowcore.testing.stores import MemoryArtifacts, MemoryDocuments, MemoryRuns

COLLECTION = "runs_of_the_port"  # which no function listens to
BUCKET = "artifacts"


@dataclass(frozen=True)
class Outside:
    """A port, and the hand of somebody who writes past it."""

    runs: Runs
    put: Callable[[str, Mapping[str, object]], object]


@pytest.fixture(scope="session")
def database(platform: Platform) -> firestore.Client:
    return firestore.Client()


@pytest.fixture(scope="session")
def storage_client(platform: Platform) -> StorageClient:
    return StorageClient()


@pytest.fixture(params=["memory", "wire"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wire_runs(platform: Platform, database: firestore.Client) -> FirestoreRuns:
    return FirestoreRuns(database, COLLECTION)


@pytest.fixture
def wire_documents(platform: Platform, database: firestore.Client) -> FirestoreDocuments:
    return FirestoreDocuments(database)


@pytest.fixture
def wire_artifacts(platform: Platform, storage_client: StorageClient) -> GcsArtifacts:
    storage_client.create_bucket(BUCKET)
    return GcsArtifacts(storage_client, BUCKET)


@pytest.fixture
def outside(kind: str, database: firestore.Client, wire_runs: FirestoreRuns) -> Outside:
    if kind == "memory":
        twin = MemoryRuns()
        return Outside(twin, twin.put)
    return Outside(wire_runs, lambda run_id, document: database.document(COLLECTION, run_id).set(dict(document)))


@pytest.fixture
def documents(kind: str, wire_documents: FirestoreDocuments) -> Documents:
    return MemoryDocuments() if kind == "memory" else wire_documents


@pytest.fixture
def artifacts(kind: str, wire_artifacts: GcsArtifacts) -> Artifacts:
    return MemoryArtifacts(BUCKET) if kind == "memory" else wire_artifacts
