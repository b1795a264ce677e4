"""`flow cancel`: end a run."""

from __future__ import annotations

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def cancel(
    run_id: RunId,
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Cancel a run: what has not begun never will. Steps that are running end by themselves, and are recorded."""
    from flowcore.cli import operating
    from flowcore.cli.answers import say_how_it_stands

    there = entered(project, env, database, bucket, as_json=as_json)
    say_how_it_stands(there, operating.cancel(there, run_id), as_json=as_json)
