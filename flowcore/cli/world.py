"""Which world a command talks to: the platform on this laptop, or a project in the cloud. It always says which.

In this order: what the options name; the variables of an emulator, if they are set; the platform that runs in this
folder; the cloud, with the account that gcloud knows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flowcore.cli import state
from flowcore.cli.problems import Exit, Problem

if TYPE_CHECKING:
    from google.cloud import firestore

    from flowcore.ports import Artifacts, Documents, Runs

BUCKET = "artifacts"  # on a laptop
COLLECTION = "flow_runs"
DATABASE = "(default)"
_EMULATOR = "FIRESTORE_EMULATOR_HOST"

Project = Annotated[str | None, typer.Option(help="A Google Cloud project (else: the platform on this machine).")]
Database = Annotated[str, typer.Option(help="The Firestore database.")]
Bucket = Annotated[str | None, typer.Option(help="The bucket of the artifacts.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@dataclass(frozen=True)
class World:
    project: str
    database: str
    bucket: str
    local: bool
    functions: Mapping[str, str]  # where HTTP functions answer, as far as this is known

    def __str__(self) -> str:
        if self.local:
            return f"the platform on this machine ({os.environ[_EMULATOR]}, project {self.project})"
        return f"Google Cloud, project {self.project}, database {self.database}, bucket {self.bucket}"

    @cached_property
    def firestore(self) -> firestore.Client:
        from google.auth.exceptions import DefaultCredentialsError
        from google.cloud import firestore

        try:
            return firestore.Client(project=self.project, database=self.database)
        except DefaultCredentialsError:
            raise Problem(
                "no account to talk to Google Cloud with; run: gcloud auth application-default login", Exit.UNREACHABLE
            ) from None

    @cached_property
    def storage(self) -> Any:
        from google.cloud.storage import Client  # type: ignore[import-untyped]

        return Client(project=self.project)

    @cached_property
    def runs(self) -> Runs:
        from flowcore.adapters.firestore import FirestoreRuns

        return FirestoreRuns(self.firestore, COLLECTION)

    @cached_property
    def documents(self) -> Documents:
        from flowcore.adapters.firestore import FirestoreDocuments

        return FirestoreDocuments(self.firestore)

    @cached_property
    def artifacts(self) -> Artifacts:
        from flowcore.adapters.gcs import GcsArtifacts

        return GcsArtifacts(self.storage, self.bucket)


def world(project: str | None = None, database: str = DATABASE, bucket: str | None = None) -> World:
    """The world that the options and this folder mean."""
    functions: Mapping[str, str] = {}
    if project is None and _EMULATOR not in os.environ:
        functions = _found_here()
    local = _EMULATOR in os.environ
    named = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not named:
        raise Problem(
            "no platform runs here and no project is named; start one with flow up, or name it with --project",
            Exit.UNREACHABLE,
        )
    kept = bucket or os.environ.get("ARTIFACTS_BUCKET") or (BUCKET if local else None)
    if not kept:
        raise Problem("which bucket holds the artifacts? name it with --bucket, or set ARTIFACTS_BUCKET", Exit.MISUSED)
    return World(named, database, kept, local, functions)


def _found_here() -> Mapping[str, str]:
    try:
        running = state.running(Path.cwd())
    except state.NotRunning:
        return {}
    os.environ.update(running.exports)  # the clients of Google look there
    return running.functions
