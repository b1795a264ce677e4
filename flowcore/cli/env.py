"""`flow env`: what to export in another shell, so that it talks to the running platform."""

import json
from pathlib import Path

import typer

from emulator import shell
from flowcore.cli import state
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import Json


def env(*, as_json: Json = False) -> None:
    """Print the exports of the running platform: eval "$(flow env)"."""
    try:
        running = state.running(Path.cwd())
    except state.NotRunning as reason:
        raise Problem(str(reason), Exit.UNREACHABLE) from None
    if as_json:
        typer.echo(json.dumps(running.exports))
    else:
        typer.echo(shell.exports(running.exports), nl=False)
