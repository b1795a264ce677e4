"""`flow watch`: a run as it changes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import Bucket, Database, Env, Json, Project, World, entered

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]


def watch(
    run_id: RunId,
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Show the steps of a run as they change, until it ends. Fails unless the run SUCCEEDED."""
    look_on(entered(project, env, database, bucket, as_json=as_json), run_id, as_json=as_json)


def look_on(there: World, run_id: str, *, as_json: bool) -> None:
    from rich.console import Console

    from flowcore.cli.display import show_all
    from flowcore.cli.watching import changes

    try:
        last = show_all(Console(stderr=as_json), changes(there, run_id))
    except KeyboardInterrupt:
        again = there.command(f"watch {run_id}")
        raise Problem(f"the run goes on; look again with: {again}", Exit.INTERRUPTED) from None
    status = str(last.status) if last else "UNKNOWN"
    if as_json:
        typer.echo(json.dumps({"runId": run_id, "status": status}))
    if status != "SUCCEEDED":
        raise Problem(f"{run_id} is {status}; {there.command(f'show {run_id}')} says why", Exit.FAILED)
    if not as_json:
        typer.echo(f"{run_id} SUCCEEDED; see its page with: {there.command(f'open {run_id}')}")
