"""`flow run`: start a run, and look on."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Annotated

import typer

from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def run(
    flow: Annotated[str, typer.Argument(help="A file with a flow definition, or the key of one in Firestore.")],
    *,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter: symbol=ETHUSDT, timeframes=1d,4h. Repeatable."),
    ] = None,
    run_id: Annotated[str | None, typer.Option("--id", help="The run's id (else: made from time and symbol).")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the steps as they change, until the run ends.")] = False,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Start a run. The same --id with the same flow and parameters is the same run; with others it is refused."""
    from flowcore.cli.definitions import definition_of
    from flowcore.cli.settings import settings
    from flowcore.cli.starting import begin, fresh_id
    from flowcore.cli.watch import look_on

    there, now = entered(project, env, database, bucket, as_json=as_json), datetime.now(UTC)
    definition = definition_of(flow, there)
    parameters = settings(given or (), definition)
    named = fresh_id(definition, parameters, now, uuid.uuid4().hex) if run_id is None else run_id
    begun = begin(there, definition, parameters, named, now)
    if as_json and not watch:
        typer.echo(json.dumps({"runId": begun.run_id, "created": begun.created}))
    elif not as_json:
        typer.echo(f"{begun.run_id} {'started' if begun.created else 'was there already'}")
        if not watch:
            typer.echo(f"look on with: {there.command(f'watch {begun.run_id}')}")
    if watch:
        look_on(there, begun.run_id, as_json=as_json)
