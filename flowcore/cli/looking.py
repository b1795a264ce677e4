"""One run, looked at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.domain.model import RUN_ID, Run, Snapshot, Step
from flowcore.domain.parse import parse_run


@dataclass(frozen=True, slots=True)
class Found:
    run: Run
    snapshot: Snapshot

    @property
    def document(self) -> Mapping[str, object]:
        return self.snapshot.document


def run_of(there: World, run_id: str) -> Found:
    snapshot = there.runs.get(run_id) if RUN_ID.fullmatch(run_id) else None
    if snapshot is None:
        raise Problem(f"{run_id}: there is no such run in {there}; {there.command('runs')} lists them", Exit.MISSING)
    return Found(parse_run(snapshot), snapshot)


def step_of(run: Run, step_id: str) -> Step:
    if step_id not in run.steps:
        close = difflib.get_close_matches(step_id, run.steps, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its steps are {', '.join(run.steps)}"
        raise Problem(f"{run.run_id} has no step {step_id}; {hint}", Exit.MISSING)
    return run.steps[step_id]
