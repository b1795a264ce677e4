"""`flow env`: what to export in another shell, so that it talks to the running platform."""

from pathlib import Path

import typer

from emulator import shell
from flowcore.cli import state


def env() -> None:
    """Print the exports of the running platform: eval "$(flow env)"."""
    try:
        running = state.running(Path.cwd())
    except state.NotRunning as reason:
        typer.echo(reason, err=True)
        raise typer.Exit(1) from reason
    typer.echo(shell.exports(running.exports), nl=False)
