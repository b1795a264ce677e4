"""What an operator may do to a run, each in one patch: cancel it, try a failed step again, do without a step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from flowcore.domain import moves
from flowcore.domain.dependencies import was_blocked
from flowcore.domain.errors import Code
from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from flowcore.domain.patch import NOTHING, Patch
from flowcore.domain.plan import settled, written

# The same inputs gave this answer; paying for it once more would not change it. A rerun is a new run.
NEVER_AGAIN = (Code.INVALID_STRUCTURED_OUTPUT, Code.LLM_SAFETY_BLOCK)


class Refused(Exception):
    """An operator's wish that the run's state does not allow. The message says why, and what would work."""


def cancel(run: Run, now: datetime) -> Patch:
    """Ask for the end of a run. One that is finished, or is only waiting to be called so, has nothing to cancel."""
    after = settled(replace(run, cancel_requested=True), now)
    if run.status.finished or after.status is not RunStatus.CANCELLED:
        return NOTHING
    return written(run, after, now)


def retry(run: Run, step_ids: Collection[str], now: datetime) -> Patch:
    """FAILED steps get a fresh start."""
    return reopen(run, now, retry=step_ids)


def skip(run: Run, step_ids: Collection[str], now: datetime) -> Patch:
    """Go on without steps that failed or have not begun. What depends on them will be skipped too."""
    return reopen(run, now, skip=step_ids)


def reopen(run: Run, now: datetime, *, retry: Collection[str] = (), skip: Collection[str] = ()) -> Patch:
    """Both wishes in one patch: the run goes on, and what was skipped because of these steps comes back."""
    _named(run, (*retry, *skip))
    changed = [_fresh(run.steps[step_id]) for step_id in retry]
    changed += [_without(run.steps[step_id], now) for step_id in skip]
    status = run.status if run.status is RunStatus.PENDING else RunStatus.RUNNING
    blocked = [step for step in run.steps.values() if was_blocked(step)]
    wanted = replace(run, status=status, finished_at=None, error=None)
    after = settled(wanted.with_steps(*(moves.reopened(step) for step in blocked), *changed), now)
    if after.status is RunStatus.FAILED:
        others = ", ".join(step.step_id for step in after.in_status(StepStatus.FAILED))
        raise Refused(f"the run would fail again at once because of {others}; retry or skip them as well")
    # What is blocked as before has not changed.
    same = [step for step in blocked if after.steps[step.step_id].error == step.error]
    return written(run, after.with_steps(*same), now)


def _fresh(step: Step) -> Step:
    if step.status is not StepStatus.FAILED:
        raise Refused(f"steps.{step.step_id} is {step.status}; only a FAILED step can be tried again")
    if step.error and step.error.code in NEVER_AGAIN:
        raise Refused(f"steps.{step.step_id} failed with {step.error.code}; skip it, or rerun the flow as a new run")
    return replace(moves.rested(step, not_before=None), failures=0, lease_losses=0, nudges=0)


def _without(step: Step, now: datetime) -> Step:
    if step.status not in (StepStatus.FAILED, StepStatus.PENDING, StepStatus.READY):
        raise Refused(f"steps.{step.step_id} is {step.status}; only what failed or has not begun can be skipped")
    return moves.skipped(step, step.error, now)


def _named(run: Run, step_ids: Collection[str]) -> None:
    """Refuse what no state of the steps could make possible."""
    if run.defect:
        raise Refused(f"the run document is broken ({run.defect}); correct it and start a new run")
    if run.status is RunStatus.CANCELLED or run.cancel_requested:
        raise Refused("the run is cancelled; rerun the flow as a new run instead")
    unknown = [step_id for step_id in step_ids if step_id not in run.steps]
    if unknown or not step_ids:
        missing = f"has no step {unknown[0]!r}" if unknown else "needs to be told which step"
        raise Refused(f"the run {missing}; its steps are {', '.join(run.steps)}")
