"""What is said after something was done to a run."""

from __future__ import annotations

import json

import typer

from flowcore.cli.advice import next_things
from flowcore.cli.report.order import along_the_graph
from flowcore.cli.world import World
from flowcore.domain.model import Run


def say_how_it_stands(there: World, run: Run, *, as_json: bool) -> None:
    if as_json:
        steps = {name: str(step.status) for name, step in run.steps.items()}
        typer.echo(json.dumps({"runId": run.run_id, "status": str(run.status), "steps": steps}))
        return
    typer.echo(f"{run.run_id} is {run.status}")
    for step in along_the_graph(run.steps):
        typer.echo(f"  {step.status:<9} {step.step_id}")
    for advice in next_things(run, there.options):
        typer.echo(f"next: {advice}")
