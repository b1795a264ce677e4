"""`flow retry`: give what failed another start."""

from __future__ import annotations

from typing import Annotated

import typer

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def retry(
    run_id: RunId,
    steps: Annotated[
        list[str] | None, typer.Argument(metavar="[STEP…]", help="Steps that failed (else: all that may be retried).")
    ] = None,
    *,
    skip: Annotated[list[str] | None, typer.Option(help="Do without this one in the same go. Repeatable.")] = None,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Try failed steps again, with the same inputs. The run goes on; for other inputs start a new run."""
    from flowcore.cli import operating
    from flowcore.cli.answers import say_how_it_stands

    there = entered(project, env, database, bucket, as_json=as_json)
    say_how_it_stands(there, operating.retry(there, run_id, steps or [], skip or []), as_json=as_json)
