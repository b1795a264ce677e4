"""`flow`: what people type. One module for each command, and this one, which lists them.

A command's module holds its options and is light; what it does is imported when it is called, so that `flow --help`
answers at once. What several commands share has a module of its own: `state` knows whether a platform runs here.
"""

import typer

from flowcore.cli.env import env
from flowcore.cli.up import up

app = typer.Typer(
    help="Flows on Google Cloud Functions, and the whole platform on a laptop.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(up)
app.command()(env)


def main() -> None:
    app(prog_name="flow")
