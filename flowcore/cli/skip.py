"""`flow skip`: go on without a step."""

from __future__ import annotations

from typing import Annotated

import typer

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def skip(
    run_id: RunId,
    steps: Annotated[list[str], typer.Argument(metavar="STEP…", help="Steps that failed or have not begun.")],
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Go on without steps that failed or have not begun. What needs them is skipped, too."""
    from flowcore.cli import operating
    from flowcore.cli.answers import say_how_it_stands

    there = entered(project, env, database, bucket, as_json=as_json)
    say_how_it_stands(there, operating.skip(there, run_id, steps), as_json=as_json)
