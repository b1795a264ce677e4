"""`flow seed`: what a project needs before its first run."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flowcore.cli.world import Bucket, Database, Env, Json, Project, world


def seed(
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    replace: Annotated[bool, typer.Option("--replace", help="Also write over what somebody has changed.")] = False,
    as_json: Json = False,
) -> None:
    """Bring schemas, prompts, chart templates and flow definitions into Firestore. As often as you like."""
    from flowcore.cli.seeding import seeds, sow

    there = world(project, env, database, bucket)
    typer.echo(f"into {there}", err=as_json)
    sown = []
    for each in seeds():
        done = sow(there.documents, each, replace=replace)
        sown.append({"path": done.path, "outcome": done.outcome})
        if not as_json:
            typer.echo(f"  {done.outcome:<10} {done.path}")
    if as_json:
        typer.echo(json.dumps(sown))
    elif any(each["outcome"] == "kept" for each in sown):
        typer.echo("kept: differs from what ships, so somebody has changed it; --replace writes over it")
