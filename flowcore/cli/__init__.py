"""`flow`: what people type. One module for each command, and this one, which lists them.

A command's module holds its options and is light; what it does is imported when it is called, so that `flow --help`
answers at once. What several commands share has a module of its own: `state` knows whether a platform runs here,
`world` which one is meant, `problems` what is said when something goes wrong.
"""

import os

import typer

from flowcore.cli.demo import demo
from flowcore.cli.env import env
from flowcore.cli.problems import guarded
from flowcore.cli.run import run
from flowcore.cli.seed import seed
from flowcore.cli.up import up
from flowcore.cli.watch import watch

app = typer.Typer(
    help="Flows on Google Cloud Functions, and the whole platform on a laptop.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (up, env, seed, demo, run, watch):
    app.command()(command)


def main() -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is said by us, in one line
    guarded(lambda: app(prog_name="flow"))
