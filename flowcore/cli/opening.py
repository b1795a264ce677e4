"""`flow open`: a run's page, or the artifact of one step, before somebody's eyes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flowcore.cli.watch import RunId
from flowcore.cli.world import Bucket, Database, Env, Json, Project, entered


def open_(
    run_id: RunId,
    step_id: Annotated[str | None, typer.Argument(metavar="[STEP]", help="Only this step's artifact.")] = None,
    *,
    browser: Annotated[bool, typer.Option(help="Show it in a browser, or only say where it is.")] = True,
    output: Annotated[Path, typer.Option(help="The folder for the page and all artifacts.")] = Path("build/runs"),
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Write a page about a run, with every artifact beside it, and open it; or the artifact of one step."""
    import webbrowser

    from rich.console import Console

    from flowcore.cli.looking import run_of
    from flowcore.cli.pages import save_page
    from flowcore.cli.saving import artifact_of

    there = entered(project, env, database, bucket, as_json=as_json)
    found = run_of(there, run_id)
    with Console(stderr=True).status("fetching artifacts"):
        if step_id:
            place = artifact_of(there, found.run, step_id, output / run_id)
        else:
            place = save_page(there, run_id, output / run_id).resolve().as_uri()
    if as_json:
        typer.echo(json.dumps({"runId": run_id, "stepId": step_id, "url": place}))
    else:
        typer.echo(place)
    if browser and not as_json and not webbrowser.open(place):
        typer.echo("no browser can be started here; open it yourself")
