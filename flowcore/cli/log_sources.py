"""Where a run's log lines are kept: beside the platform on this machine, or in Cloud Logging."""

from __future__ import annotations

import os
from pathlib import Path

from flowcore.cli import cloud_logging, state
from flowcore.cli.log_lines import Line, in_order, of_run
from flowcore.cli.looking import run_of
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import EMULATOR, World


def lines_of(there: World, run_id: str) -> list[Line]:
    found = run_of(there, run_id)
    if there.local:
        return in_order(of_run(_folder(), run_id))
    return cloud_logging.lines(there.project, run_id, found.run.created_at, there.environment)


def _folder() -> Path:
    """`flow up` keeps a file for each part. Whose variables are set here may be another platform's."""
    try:
        running = state.running(Path.cwd())
    except state.NotRunning as reason:
        raise Problem(f"the log is kept where flow up was typed, and {reason}", Exit.UNREACHABLE) from None
    if running.exports.get(EMULATOR) != os.environ.get(EMULATOR):
        raise Problem(
            f'{EMULATOR} names another platform than the one of this folder; run: eval "$(flow env)"', Exit.REFUSED
        )
    return Path(running.logs)
