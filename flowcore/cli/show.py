"""`flow show`: how a run stands, and what to do about it."""

from __future__ import annotations

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def show(
    run_id: RunId,
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Show a run: its graph and times, why each step waits, what went wrong, and the next thing to do."""
    import json
    from datetime import UTC, datetime

    import typer

    from flowcore.cli.looking import run_of
    from flowcore.cli.portrait import as_data, portrayed

    there = entered(project, env, database, bucket, as_json=as_json)
    found, now = run_of(there, run_id), datetime.now(UTC)
    if as_json:
        typer.echo(json.dumps(as_data(found, now, there.options)))
    else:
        portrayed(found, now, there.options)
