"""`flow demo`: the whole thing once, on this machine, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowcore.cli.world import Json


def demo(
    *,
    symbol: Annotated[
        str, typer.Option(help="BTCUSDT and ETHUSDT are generated; AAPL, FB, GOOG, IBM, MSFT are real.")
    ] = "BTCUSDT",
    output: Annotated[Path, typer.Option(help="The folder for the report and all artifacts.")] = Path("build/demo"),
    as_json: Json = False,
) -> None:
    """Start the platform, run the market report on it, and write a page about it. Needs no account and no key."""
    from flowcore.cli.showing import show_off

    show_off(symbol, output, as_json=as_json)
