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
EMULATOR = "FIRESTORE_EMULATOR_HOST"

Project = Annotated[str | None, typer.Option(help="A Google Cloud project (else: the platform on this machine).")]
Database = Annotated[str, typer.Option(help="The Firestore database.")]
Bucket = Annotated[str | None, typer.Option(help="The bucket of the artifacts.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@dataclass(frozen=True)
class World:
    project: str
    database: str
    named_bucket: str | None  # most commands need none
    local: bool

    def __str__(self) -> str:
        if self.local:
            return f"the platform on this machine ({os.environ[EMULATOR]}, project {self.project})"
        kept = f", bucket {self.named_bucket}" if self.named_bucket else ""
        return f"Google Cloud, project {self.project}, database {self.database}{kept}"

    @property
    def bucket(self) -> str:
        if not self.named_bucket:
            raise Problem(
                "which bucket holds the artifacts? name it with --bucket, or set ARTIFACTS_BUCKET", Exit.MISUSED
            )
        return self.named_bucket

    @cached_property
    def firestore(self) -> firestore.Client:
        from google.auth.exceptions import DefaultCredentialsError
        from google.cloud import firestore

        try:
            return firestore.Client(project=self.project, database=self.database)
        except DefaultCredentialsError:
            raise _no_account(self) from None

    @cached_property
    def storage(self) -> Any:
        from google.auth.exceptions import DefaultCredentialsError
        from google.cloud.storage import Client  # type: ignore[import-untyped]

        try:
            return Client(project=self.project)
        except DefaultCredentialsError:
            raise _no_account(self) from None

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
    if project is None and EMULATOR not in os.environ:
        os.environ.update(_exported_here())  # the clients of Google look there
    local = EMULATOR in os.environ
    named = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not named:
        raise Problem(
            "no platform runs here and no project is named; start one with flow up, or name it with --project",
            Exit.UNREACHABLE,
        )
    kept = bucket or os.environ.get("ARTIFACTS_BUCKET") or (BUCKET if local else None)
    return World(named, database, kept, local)


def entered(project: str | None, database: str, bucket: str | None, *, as_json: bool) -> World:
    """The world that is meant, said aloud: beside the answer when the answer is for programs."""
    there = world(project, database, bucket)
    typer.echo(f"in {there}", err=as_json)
    return there


def _exported_here() -> Mapping[str, str]:
    try:
        return state.running(Path.cwd()).exports
    except state.NotRunning:
        return {}


def _no_account(there: World) -> Problem:
    return Problem(
        f"no account to talk to Google Cloud with (project {there.project}); "
        "run: gcloud auth application-default login",
        Exit.UNREACHABLE,
    )
