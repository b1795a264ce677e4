"""What `flow demo` does: platform, seeds, run, report; each of them the real one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from emulator.market_data import provenance
from emulator.platform import Log, Platform, PlatformFailed
from flowcore.cli import project
from flowcore.cli.definitions import definition_of
from flowcore.cli.display import show_all
from flowcore.cli.furnishing import at_home, furnished
from flowcore.cli.pages import save_page
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.starting import begin, fresh_id
from flowcore.cli.watching import changes
from flowcore.cli.world import World

FLOW = "market_report_v1"


def show_off(symbol: str, output: Path) -> None:
    console = Console()
    began = time.monotonic()
    try:
        with _platform(console, output / "logs") as there:
            up = time.monotonic() - began
            console.print(f"the platform is up after {up:.1f} s; its logs are in {output / 'logs'}")
            now, parameters = datetime.now(UTC), {"symbol": symbol}
            definition = definition_of(FLOW, there)
            begun = begin(there, definition, parameters, fresh_id(definition, parameters, now, uuid.uuid4().hex), now)
            last = show_all(console, changes(there, begun.run_id))
            page = save_page(there, begun.run_id, output, provenance(symbol))
    except KeyboardInterrupt:
        raise Problem("ended, and nothing is left running; flow demo begins anew", Exit.INTERRUPTED) from None
    console.print(f"{begun.run_id}: {last.status if last else 'unknown'} after {time.monotonic() - began:.1f} s")
    console.print(f"the candles are {provenance(symbol)}; the analyst is the local stand-in for Gemini")
    console.print(f"the report: {page.resolve().as_uri()}", soft_wrap=True)
    if last is None or last.status != "SUCCEEDED":
        raise Problem(f"the run did not succeed; the page and {output / 'logs'} say why", Exit.FAILED)


@contextmanager
def _platform(console: Console, logs: Path) -> Iterator[World]:
    log = Log(None, logs)
    platform = Platform(functions=project.functions(), log=log)
    try:
        with console.status("starting the platform"):
            platform.start()
        with at_home(platform) as there:
            furnished(there)
            yield there
    except PlatformFailed as failure:
        raise Problem(str(failure), Exit.UNREACHABLE) from failure
    finally:
        platform.stop()
        log.close()
