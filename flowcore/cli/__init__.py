"""`flow`: what people type. One module for each command, and this one, which lists them.

A command's module holds its options and is light; what it does is imported when it is called, so that `flow --help`
answers at once. What several commands share has a module of its own: `state` knows whether a platform runs here,
`world` which one is meant, `problems` what is said when something goes wrong.
"""

import io
import os
import sys
from collections.abc import Callable

import typer

from flowcore.cli.cancel import cancel
from flowcore.cli.cost import cost
from flowcore.cli.demo import demo
from flowcore.cli.doctor import doctor
from flowcore.cli.env import env
from flowcore.cli.logs import logs
from flowcore.cli.opening import open_
from flowcore.cli.problems import guarded
from flowcore.cli.rerun import rerun
from flowcore.cli.retry import retry
from flowcore.cli.run import run
from flowcore.cli.runs import runs
from flowcore.cli.seed import seed
from flowcore.cli.show import show
from flowcore.cli.skip import skip
from flowcore.cli.up import up
from flowcore.cli.validate import validate
from flowcore.cli.watch import watch

PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "This machine": (up, env, demo, doctor),
    "Flows": (validate, seed, run, cost),
    "Runs": (runs, show, watch, logs, open_),
    "Operating": (cancel, skip, retry, rerun),
}

app = typer.Typer(
    help="Flows on Google Cloud Functions, and the whole platform on a laptop.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for panel, commands in PANELS.items():
    for command in commands:
        app.command(command.__name__.rstrip("_"), rich_help_panel=panel)(command)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our signs shows others, not a trace
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is said by us, in one line
    guarded(lambda: app(prog_name="flow", standalone_mode=False))
