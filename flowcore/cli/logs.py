"""`flow logs`: what the functions said about a run."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def logs(
    run_id: RunId,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Also from functions that had nothing to do.")] = False,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Print what every function logged about a run, in order: from the platform here, or from Cloud Logging."""
    from flowcore.cli.display import screen
    from flowcore.cli.log_lines import told
    from flowcore.cli.log_sources import lines_of

    there = entered(project, env, database, bucket, as_json=as_json)
    found = [line for line in lines_of(there, run_id) if everything or not line.idle]
    if as_json:
        typer.echo(json.dumps([line.as_data() for line in found]))
        return
    console = screen()
    for line in found:
        console.print(told(line), soft_wrap=True)
    if not found:
        typer.echo(f"nobody has logged anything about {run_id}; {there.command(f'show {run_id}')} says how it stands")
