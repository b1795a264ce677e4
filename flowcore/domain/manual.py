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
    """Ask for the end of a run. A finished run has nothing left to cancel."""
    if run.status.finished:
        return NOTHING
    return written(run, settled(replace(run, cancel_requested=True), now), now)


def retry(run: Run, step_ids: Collection[str], now: datetime) -> Patch:
    """FAILED steps get a fresh start: counters at zero, the run reopened, what was skipped because of them back."""
    fresh = []
    for step in _named(run, step_ids):
        if step.status is not StepStatus.FAILED:
            raise Refused(f"steps.{step.step_id} is {step.status}; only a FAILED step can be tried again")
        if step.error and step.error.code in NEVER_AGAIN:
            raise Refused(f"steps.{step.step_id} failed with {step.error.code}; rerun the flow as a new run instead")
        fresh.append(replace(moves.rested(step, not_before=None), failures=0, lease_losses=0, nudges=0))
    return _reopen(run, fresh, now)


def skip(run: Run, step_id: str, now: datetime) -> Patch:
    """Go on without a step that failed or has not begun. What depends on it will be skipped too."""
    (step,) = _named(run, [step_id])
    if step.status not in (StepStatus.FAILED, StepStatus.PENDING, StepStatus.READY):
        raise Refused(f"steps.{step_id} is {step.status}; only a step that failed or has not begun can be skipped")
    return _reopen(run, [moves.skipped(step, step.error, now)], now)


def _named(run: Run, step_ids: Collection[str]) -> list[Step]:
    if run.defect:
        raise Refused(f"the run document is broken ({run.defect}); correct it and start a new run")
    if run.status is RunStatus.CANCELLED or run.cancel_requested:
        raise Refused("the run is cancelled; rerun the flow as a new run instead")
    unknown = [step_id for step_id in step_ids if step_id not in run.steps]
    if unknown:
        raise Refused(f"the run has no step {unknown[0]!r}; its steps are {', '.join(run.steps)}")
    return [run.steps[step_id] for step_id in step_ids]


def _reopen(run: Run, changed: list[Step], now: datetime) -> Patch:
    status = run.status if run.status is RunStatus.PENDING else RunStatus.RUNNING
    # What is still blocked after this will be skipped again by the plan below.
    waiting = [moves.reopened(step) for step in run.steps.values() if was_blocked(step)]
    reopened = replace(run, status=status, finished_at=None).with_steps(*waiting, *changed)
    after = settled(reopened, now)
    if after.status is RunStatus.FAILED:
        others = [step.step_id for step in after.in_status(StepStatus.FAILED) if not step.optional]
        raise Refused(f"the run would fail again at once because of {', '.join(others)}; include it")
    return written(run, after, now)
