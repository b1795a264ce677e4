"""Which world a command talks to: the platform on this laptop, or a project in the cloud. It always says which.

In this order: what the options name; the variables of an emulator, if they are set; the platform that runs in this
folder; the cloud, with the account that gcloud knows. Within it, the same variables count as for the functions
(`FIRESTORE_DATABASE`, `FLOW_RUNS_COLLECTION`, `ARTIFACTS_BUCKET`), except that the platform of this folder is what
`flow up` has made it, whatever a shell has set for the cloud.

Several environments may share a project. Each has its own runs, bucket and functions, named after it by
deploy/target.py; `--env` is that name.
"""

from __future__ import annotations

import os
import re
import shlex
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
# What `flow up` tells its functions, and so what the platform of this folder means.
AT_HOME: Mapping[str, str] = {
    "ARTIFACTS_BUCKET": BUCKET,
    "FIRESTORE_DATABASE": DATABASE,
    "FLOW_RUNS_COLLECTION": COLLECTION,
}
_ENVIRONMENT = re.compile(r"[a-z][a-z0-9]{0,19}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

Project = Annotated[str | None, typer.Option(help="A Google Cloud project (else: the platform on this machine).")]
Env = Annotated[
    str | None, typer.Option("--env", help="What was deployed as this, such as staging: its runs, bucket, functions.")
]
Database = Annotated[str | None, typer.Option(help="The Firestore database (else: $FIRESTORE_DATABASE, or (default)).")]
Bucket = Annotated[str | None, typer.Option(help="The bucket of the artifacts (else: $ARTIFACTS_BUCKET).")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@dataclass(frozen=True)
class World:
    project: str
    database: str
    named_bucket: str | None  # most commands need none
    local: bool
    collection: str = COLLECTION
    environment: str | None = None
    options: str = ""  # with which another command means the same

    def __str__(self) -> str:
        if self.local:
            place = f"the platform on this machine ({os.environ[EMULATOR]}, project {self.project}"
            database = f", database {self.database}" if self.database != DATABASE else ""
            runs = f", runs in {self.collection}" if self.collection != COLLECTION else ""
            return f"{place}{database}{runs})"
        kept = f", bucket {self.named_bucket}" if self.named_bucket else ""
        return f"Google Cloud, project {self.project}, database {self.database}, runs in {self.collection}{kept}"

    def command(self, words: str) -> str:
        """What to type next: in this same world."""
        return f"flow {words}{self.options}"

    @property
    def bucket(self) -> str:
        if not self.named_bucket:
            raise Problem(
                "which bucket holds the artifacts? name it with --bucket or --env, or set ARTIFACTS_BUCKET",
                Exit.MISUSED,
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

        return FirestoreRuns(self.firestore, self.collection)

    @cached_property
    def documents(self) -> Documents:
        from flowcore.adapters.firestore import FirestoreDocuments

        return FirestoreDocuments(self.firestore)

    @cached_property
    def artifacts(self) -> Artifacts:
        from flowcore.adapters.gcs import GcsArtifacts

        return GcsArtifacts(self.storage, self.bucket)


def world(
    project: str | None = None, env: str | None = None, database: str | None = None, bucket: str | None = None
) -> World:
    """The world that the options, the variables and this folder mean."""
    if project is None and EMULATOR not in os.environ:
        os.environ.update(_exported_here())  # the clients of Google look there
    named = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not named:
        raise Problem(
            "no platform runs here and no project is named; start one with flow up, or name it with --project",
            Exit.UNREACHABLE,
        )
    local = EMULATOR in os.environ
    return World(
        named,
        database or os.environ.get("FIRESTORE_DATABASE") or DATABASE,
        bucket or _bucket(named, env) or (BUCKET if local else None),
        local,
        _collection(env),
        env,
        _options(project=project, env=env, database=database, bucket=bucket),
    )


def entered(project: str | None, env: str | None, database: str | None, bucket: str | None, *, as_json: bool) -> World:
    """The world that is meant, said aloud: beside the answer when the answer is for programs."""
    there = world(project, env, database, bucket)
    typer.echo(f"in {there}", err=as_json)
    return there


def _collection(env: str | None) -> str:
    if env is None:
        named = os.environ.get("FLOW_RUNS_COLLECTION") or COLLECTION
        if not _NAME.fullmatch(named):
            raise Problem(f"FLOW_RUNS_COLLECTION is {named}; set it to a collection's name, or unset it", Exit.MISUSED)
        return named
    if not _ENVIRONMENT.fullmatch(env):
        raise Problem(f"--env {env}: an environment is a short name such as staging; choose such a one", Exit.MISUSED)
    return f"{env}_{COLLECTION}"


def _bucket(project: str, env: str | None) -> str | None:
    return f"{project}-{env}-{BUCKET}" if env else os.environ.get("ARTIFACTS_BUCKET")


def _options(**given: str | None) -> str:
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items() if value)


def _exported_here() -> Mapping[str, str]:
    try:
        return {**state.running(Path.cwd()).exports, **AT_HOME}
    except state.NotRunning:
        return {}


def _no_account(there: World) -> Problem:
    return Problem(
        f"no account to talk to Google Cloud with (project {there.project}); "
        "run: gcloud auth application-default login",
        Exit.UNREACHABLE,
    )
