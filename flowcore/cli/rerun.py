"""`flow rerun`: the same once more, as a run of its own."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import typer

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def rerun(
    run_id: RunId,
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Start a new run from the inputs of an old one, whatever became of that. The old one stays as it is."""
    from flowcore.cli.repeating import repeat

    there = entered(project, env, database, bucket, as_json=as_json)
    new = repeat(there, run_id, datetime.now(UTC), uuid.uuid4().hex)
    if as_json:
        typer.echo(json.dumps({"runId": new, "rerunOf": run_id}))
    else:
        typer.echo(f"{new} started, from the inputs of {run_id}")
        typer.echo(f"look on with: {there.command(f'watch {new}')}")
