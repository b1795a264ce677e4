"""`flow watch`: a run as it changes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import DATABASE, Bucket, Database, Json, Project, World, entered

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]


def watch(
    run_id: RunId,
    *,
    project: Project = None,
    database: Database = DATABASE,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Show the steps of a run as they change, until it ends. Fails unless the run SUCCEEDED."""
    look_on(entered(project, database, bucket, as_json=as_json), run_id, as_json=as_json)


def look_on(there: World, run_id: str, *, as_json: bool) -> None:
    from rich.console import Console

    from flowcore.cli.display import show_all
    from flowcore.cli.watching import changes

    try:
        last = show_all(Console(stderr=as_json), changes(there, run_id))
    except KeyboardInterrupt:
        raise Problem(f"the run goes on; look again with: flow watch {run_id}", Exit.INTERRUPTED) from None
    status = str(last.status) if last else "UNKNOWN"
    if as_json:
        typer.echo(json.dumps({"runId": run_id, "status": status}))
    if status != "SUCCEEDED":
        raise Problem(f"{run_id} is {status}; flow show {run_id} says why", Exit.FAILED)
