"""An operator's wish, written as everything is written to a run: decided on a snapshot, only if that is still true."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.cli.looking import run_of, step_of
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.domain import manual
from flowcore.domain.manual import NEVER_AGAIN, Refused
from flowcore.domain.model import Run, RunStatus, StepStatus
from flowcore.domain.patch import NOTHING, Patch
from flowcore.domain.retry import POLICIES
from flowcore.engine.patience import Patience
from flowcore.engine.update import Contended, update

SECONDS = 30.0  # that somebody waits for an answer


def cancel(there: World, run_id: str) -> Run:
    run = _updated(there, run_id, lambda run: manual.cancel(run, _now()))
    if run.status is not RunStatus.CANCELLED:
        look = there.command(f"show {run_id}")
        raise Refused(f"{run_id} is {run.status}; there is nothing left to cancel, look at it with: {look}")
    return run


def skip(there: World, run_id: str, step_ids: Sequence[str]) -> Run:
    return _reopened(there, run_id, lambda run: ((), _known(run, step_ids)))


def retry(there: World, run_id: str, step_ids: Sequence[str], skipped: Sequence[str]) -> Run:
    """Of no step in particular means: of all that have failed and may be tried again."""

    def wish(run: Run) -> tuple[Collection[str], Collection[str]]:
        return _known(run, step_ids) or _failed(there, run, skipped), _known(run, skipped)

    return _reopened(there, run_id, wish)


def _reopened(there: World, run_id: str, wish: Callable[[Run], tuple[Collection[str], Collection[str]]]) -> Run:
    """A reply may be lost after the write has landed. The second look then finds the steps already moved, by us."""
    before: dict[str, StepStatus] = {}

    def decide(run: Run) -> Patch:
        if before and all(run.steps[name].status is not status for name, status in before.items()):
            return NOTHING
        retried, skipped = wish(run)
        patch = manual.reopen(run, _now(), retry=retried, skip=skipped)
        before.update({name: run.steps[name].status for name in (*retried, *skipped)})
        return patch

    return _updated(there, run_id, decide)


def _updated(there: World, run_id: str, decide: Callable[[Run], Patch]) -> Run:
    clock = SystemClock()
    patience = Patience(
        POLICIES["firestore"], clock, SystemChance(), ends=clock.monotonic() + SECONDS, races=POLICIES["advance"]
    )
    found = run_of(there, run_id)  # without patience: that is for races, not for a platform that is down
    try:
        done = update(there.runs, run_id, found.snapshot, decide, patience)
    except Contended:
        raise Problem(f"{run_id}: others keep writing to it; ask again in a moment", Exit.UNREACHABLE) from None
    except Refused as reason:
        raise Refused(f"{run_id}: {reason}") from None
    return done.run or run_of(there, run_id).run


def _known(run: Run, step_ids: Sequence[str]) -> list[str]:
    return [step_of(run, step_id).step_id for step_id in step_ids]


def _failed(there: World, run: Run, skipped: Collection[str]) -> list[str]:
    failed = [step for step in run.in_status(StepStatus.FAILED) if step.step_id not in skipped]
    again = [step.step_id for step in failed if not (step.error and step.error.code in NEVER_AGAIN)]
    if not failed:
        raise Refused(f"no step has failed; {there.command(f'show {run.run_id}')} says how it stands")
    return again or [step.step_id for step in failed]  # the reason why not is the domain's to say


def _now() -> datetime:
    return datetime.now(UTC)
