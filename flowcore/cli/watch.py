"""`flow watch`: a run as it changes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flowcore.cli.problems import Exit
from flowcore.cli.world import DATABASE, Bucket, Database, Json, Project, World, world


def watch(
    run_id: Annotated[str, typer.Argument(help="The run's id.")],
    *,
    project: Project = None,
    database: Database = DATABASE,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Show the steps of a run as they change, until it ends. Fails unless the run SUCCEEDED."""
    look_on(world(project, database, bucket), run_id, as_json=as_json)


def look_on(there: World, run_id: str, *, as_json: bool) -> None:
    from rich.console import Console

    from flowcore.cli.display import show_all
    from flowcore.cli.watching import changes

    console = Console(stderr=as_json)
    try:
        last = show_all(console, changes(there, run_id))
    except KeyboardInterrupt:
        console.print(f"the run goes on; look again with: flow watch {run_id}", markup=False)
        raise
    status = str(last.status) if last else "UNKNOWN"
    if as_json:
        typer.echo(json.dumps({"runId": run_id, "status": status}))
    if status != "SUCCEEDED":
        raise typer.Exit(Exit.FAILED)
