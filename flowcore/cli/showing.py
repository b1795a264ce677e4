"""What `flow demo` does: platform, seeds, run, report; each of them the real one."""

from __future__ import annotations

import os
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
from flowcore.cli.pages import save_page
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.seeding import seeds, sow
from flowcore.cli.starting import begin, fresh_id
from flowcore.cli.watching import changes
from flowcore.cli.world import World, world

FLOW = "market_report_v1"


def show_off(symbol: str, output: Path) -> None:
    console = Console()
    began = time.monotonic()
    with _platform(output / "logs") as there:
        console.print(f"the platform is up after {time.monotonic() - began:.1f} s; its logs are in {output / 'logs'}")
        for each in seeds():
            sow(there.documents, each, replace=True)
        now, parameters = datetime.now(UTC), {"symbol": symbol}
        definition = definition_of(FLOW, there)
        begun = begin(there, definition, parameters, fresh_id(definition, parameters, now, uuid.uuid4().hex), now)
        last = show_all(console, changes(there, begun.run_id))
        page = save_page(there, begun.run_id, output, provenance(symbol))
    console.print(f"{begun.run_id}: {last.status if last else 'unknown'} after {time.monotonic() - began:.1f} s")
    console.print(f"the candles are {provenance(symbol)}; the analyst is the local stand-in for Gemini")
    console.print(f"the report: {page.resolve().as_uri()}", soft_wrap=True)
    if last is None or last.status != "SUCCEEDED":
        raise Problem(f"the run did not succeed; the page and {output / 'logs'} say why", Exit.FAILED)


@contextmanager
def _platform(logs: Path) -> Iterator[World]:
    """Its variables hold while it lives: the clients of Google look for them."""
    log = Log(None, logs)
    try:
        with Platform(functions=project.functions(), log=log) as platform:
            before = dict(os.environ)
            os.environ.update(platform.exports)
            try:
                there = world()
                there.storage.create_bucket(there.bucket)
                yield there
            finally:
                os.environ.clear()
                os.environ.update(before)
    except PlatformFailed as failure:
        raise Problem(str(failure), Exit.UNREACHABLE) from failure
    finally:
        log.close()
