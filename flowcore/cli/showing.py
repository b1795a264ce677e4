"""What `flow demo` does: platform, seeds, run, report; each of them the real one."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from emulator.platform import Log, Platform, PlatformFailed
from flowcore.cli import numbers, project
from flowcore.cli.definitions import definition_of
from flowcore.cli.display import show_all
from flowcore.cli.furnishing import at_home, furnished
from flowcore.cli.pages import save_page
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.starting import begin, fresh_id
from flowcore.cli.watching import changes
from flowcore.cli.world import World

FLOW = "market_report_v1"
ANALYST = "the local stand-in for Gemini"


def show_off(symbol: str, output: Path, *, as_json: bool) -> None:
    console = Console(stderr=as_json, soft_wrap=True, highlight=False)
    origin = numbers.origin(symbol)
    if origin is None:
        known = ", ".join(numbers.symbols())
        raise Problem(f"--symbol {symbol}: nobody has candles of it here; take one of {known}", Exit.MISUSED)
    logs, began = output / "logs", time.monotonic()
    output.mkdir(parents=True, exist_ok=True)  # before anything is started that could not be kept
    shutil.rmtree(logs, ignore_errors=True)  # of the last demonstration
    try:
        with _platform(console, logs) as there:
            console.print(f"the platform is up after {time.monotonic() - began:.1f} s; its logs are in {logs}")
            now, parameters = datetime.now(UTC), {"symbol": symbol}
            definition = definition_of(FLOW, there)
            begun = begin(there, definition, parameters, fresh_id(definition, parameters, now, uuid.uuid4().hex), now)
            last = show_all(console, changes(there, begun.run_id))
            with console.status("fetching artifacts"):
                page = save_page(there, begun.run_id, output).resolve().as_uri()
    except KeyboardInterrupt:
        raise Problem("ended, and nothing is left running; flow demo begins anew", Exit.INTERRUPTED) from None
    status, took = str(last.status) if last else "UNKNOWN", time.monotonic() - began
    if as_json:
        told = {"runId": begun.run_id, "status": status, "seconds": round(took, 1), "page": page}
        typer.echo(json.dumps({**told, "numbers": origin, "analyst": ANALYST}))
    else:
        console.print(f"{begun.run_id}: {status} after {took:.1f} s")
        console.print(f"the candles are {origin}; the analyst is {ANALYST}")
        console.print(f"the report: {page}")
    if status != "SUCCEEDED":
        raise Problem(f"the run did not succeed; the page and {logs} say why", Exit.FAILED)


@contextmanager
def _platform(console: Console, logs: Path) -> Iterator[World]:
    log = Log(None, logs)
    platform = Platform(functions=project.functions(), log=log)
    try:
        with console.status("starting the platform"):
            platform.start()
            with at_home(platform) as there:
                furnished(there)
        with at_home(platform) as there:
            yield there
    except PlatformFailed as failure:
        raise Problem(str(failure), Exit.REFUSED) from None
    finally:
        platform.stop()
        log.close()
