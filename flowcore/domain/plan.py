"""What should happen to a run next, decided by looking at it and at the clock. Nothing is done here.

`settled` goes through its rows in a fixed order; each is a small function from run to run. The result is stable:
planning again right after gives nothing. Everything that a lost event should have caused is found here again, so one
function serves both the event (`advance`) and the clock (`sweep`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from flowcore.domain import moves
from flowcore.domain.dependencies import blocked_error, blockers
from flowcore.domain.errors import Code, StepError, one_line
from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from flowcore.domain.patch import DELETE, NOTHING, Patch, between
from flowcore.domain.retry import step_delay

# How long an event may take to arrive before `sweep` does its work.
EVENT_PATIENCE = timedelta(seconds=60)
# How long a READY step may wait for a worker before it is offered again, and how often that is done.
READY_PATIENCE = timedelta(seconds=300)
MAX_NUDGES = 5
# More than any clock skew that we promise to survive.
CLOCK_SKEW = timedelta(seconds=60)
# For documents from before leases: the longest invocation.
DEFAULT_LEASE = timedelta(seconds=780) + CLOCK_SKEW
# A model call is paid for: a vanished worker gets one successor there, three elsewhere.
LEASE_LOSSES_ALLOWED: Mapping[str, int] = {"LLM_REPORT": 1}
DEFAULT_LEASE_LOSSES_ALLOWED = 3

_NOT_BEGUN = (StepStatus.PENDING, StepStatus.READY)


def plan(run: Run, now: datetime) -> Patch:
    """The patch that brings a run to where it should be now; empty when it is there."""
    return written(run, settled(run, now), now)


def written(before: Run, after: Run, now: datetime) -> Patch:
    """A decision as a patch, with the run's alarm clock set to fit. Every patch of a run is made here."""
    return between(before, replace(after, wake_at=wake_at(after, now)), now)


def ended_without_words(run: Run) -> Patch:
    """The end of a run whose document has no room for a reason: what is written is shorter than what it replaces."""
    if run.status.finished:
        return NOTHING
    return Patch({"status": RunStatus.FAILED.value, **({"wakeAt": DELETE} if run.wake_at else {})})


def wake_at(run: Run, now: datetime) -> datetime | None:
    """When a run written now needs attention if no event comes; None for a finished run in which nothing runs."""
    moments = [step.lease_ends(DEFAULT_LEASE) for step in run.in_status(StepStatus.RUNNING)]
    if not run.status.finished:
        moments += [step.ready_at + READY_PATIENCE for step in run.in_status(StepStatus.READY) if step.ready_at]
        moments += [step.not_before for step in run.in_status(StepStatus.PENDING) if run.dependencies_succeeded(step)]
    if settled(run, now) != run:
        # Something is due that this write's own event should bring about; if it is lost, this is when we notice.
        moments.append(now + EVENT_PATIENCE)
    return min((moment for moment in moments if moment), default=None)


def settled(run: Run, now: datetime) -> Run:
    """The run as it should be now."""
    if run.status.finished:
        return _finished(run, now)
    if run.defect:
        error = StepError(Code.FLOW_RUN_INVALID, one_line(str(run.defect)), details={"path": run.defect.path})
        return _finished(replace(run, status=RunStatus.FAILED, error=error), now)
    if run.cancel_requested and not _complete(run):
        return _finished(replace(run, status=RunStatus.CANCELLED), now)
    after = run
    for row in (_end_leases, _offer_again, _retry, _fail, _skip, _promote, _conclude):
        after = row(after, now)
        if after.status.finished:
            # A run that ends badly gives nothing another try: neither lost leases nor failures with retries left.
            untried = () if after.status is RunStatus.SUCCEEDED else (StepStatus.RUNNING, StepStatus.FAILED)
            return _finished(after.with_steps(*run.in_status(*untried)), now)
    return after


def _finished(run: Run, now: datetime) -> Run:
    """A finished run leaves nothing waiting and promotes nothing; RUNNING steps are left to their workers."""
    run = _end_leases(run if run.finished_at else replace(run, finished_at=now), now)
    waiting = run.in_status(*_NOT_BEGUN)
    if run.defect or not waiting or (run.error and run.error.code == Code.FLOW_RUN_INVALID):
        return run  # the steps of a broken document are not ours to close
    if run.status is RunStatus.CANCELLED:
        return run.with_steps(*(moves.cancelled(step, now) for step in waiting))
    blocked = blockers(run)
    return run.with_steps(
        *(moves.skipped(step, blocked_error(run, blocked.get(step.step_id)), now) for step in waiting)
    )


def _end_leases(run: Run, now: datetime) -> Run:
    changed = []
    for step in run.in_status(StepStatus.RUNNING):
        ends = step.lease_ends(DEFAULT_LEASE)
        if ends is None:
            # From before leases, and it does not even say when it began: its time starts at our first look.
            changed.append(replace(step, started_at=now))
        elif ends <= now:
            changed.append(_without_worker(run, step, now))
    return run.with_steps(*changed)


def _without_worker(run: Run, step: Step, now: datetime) -> Step:
    error = StepError(Code.LEASE_EXPIRED, f"attempt {step.attempt} did not report back before its lease ended")
    lost = moves.failed(replace(step, lease_losses=step.lease_losses + 1), error, now)
    allowed = LEASE_LOSSES_ALLOWED.get(step.step_type, DEFAULT_LEASE_LOSSES_ALLOWED)
    if run.status.finished or lost.lease_losses > allowed:
        return lost
    return moves.rested(lost, not_before=None)  # and `_promote` offers it again at once


def _offer_again(run: Run, now: datetime) -> Run:
    changed = []
    for step in run.in_status(StepStatus.READY):
        if not run.dependencies_succeeded(step):
            changed.append(moves.reopened(step))  # edited by hand: what becomes of it is for the rows below
        elif step.ready_at is None:
            changed.append(replace(step, ready_at=now))
        elif step.ready_at + READY_PATIENCE > now:
            continue
        elif _worker_seen(run, step.step_type, since=step.ready_at):
            changed.append(moves.offered_again(step, now, nudges=0))  # it only waited behind others of its type
        elif step.nudges < MAX_NUDGES:
            changed.append(moves.offered_again(step, now, nudges=step.nudges + 1))
        else:
            message = f"offered {MAX_NUDGES + 1} times, but no worker for {step.step_type} took it"
            changed.append(moves.failed(step, StepError(Code.NO_WORKER, message), now))
    return run.with_steps(*changed)


def _worker_seen(run: Run, step_type: str, since: datetime) -> bool:
    """Whether one of this type was at work after that moment, by its own clock."""
    begun = (step.started_at for step in run.steps.values() if step.step_type == step_type)
    return any(moment and moment + CLOCK_SKEW > since for moment in begun)


def _retry(run: Run, now: datetime) -> Run:
    changed = []
    for step in run.in_status(StepStatus.FAILED):
        if _has_retries(step):
            rest = step_delay(run.run_id, step.step_id, step.attempt, step.failures, step.error)
            changed.append(moves.rested(step, not_before=(step.finished_at or now) + rest))
    return run.with_steps(*changed)


def _fail(run: Run, now: datetime) -> Run:
    """A mandatory step has failed for good, or needs one that has."""
    blocked = blockers(run)
    for step in run.steps.values():
        blocker = blocked.get(step.step_id) if step.status is StepStatus.PENDING else None
        lost = step.status is StepStatus.FAILED or (blocker and blocker.status is StepStatus.FAILED)
        if lost and not step.optional:
            return replace(run, status=RunStatus.FAILED, finished_at=now)
    return run


def _skip(run: Run, now: datetime) -> Run:
    blocked = blockers(run)
    doomed = [step for step in run.in_status(StepStatus.PENDING) if step.step_id in blocked]
    return run.with_steps(*(moves.skipped(step, blocked_error(run, blocked[step.step_id]), now) for step in doomed))


def _promote(run: Run, now: datetime) -> Run:
    eligible = [
        step
        for step in run.in_status(StepStatus.PENDING)
        if run.dependencies_succeeded(step) and (step.not_before is None or step.not_before <= now)
    ]
    run = run.with_steps(*(moves.ready(step, now) for step in eligible))
    if run.status is RunStatus.PENDING and run.in_status(StepStatus.READY, StepStatus.RUNNING):
        run = replace(run, status=RunStatus.RUNNING)
    return run


def _conclude(run: Run, now: datetime) -> Run:
    if _complete(run):
        return replace(run, status=RunStatus.SUCCEEDED, finished_at=now)
    if run.in_status(*_NOT_BEGUN, StepStatus.RUNNING):
        return run
    # All is settled, yet not as success: somebody cancelled single steps by hand.
    return replace(run, status=RunStatus.CANCELLED, finished_at=now)


def _complete(run: Run) -> bool:
    """Every step SUCCEEDED, SKIPPED, or optional and FAILED for good."""
    return all(
        step.status in (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
        or (step.status is StepStatus.FAILED and step.optional and not _has_retries(step))
        for step in run.steps.values()
    )


def _has_retries(step: Step) -> bool:
    return bool(step.error and step.error.retryable and step.failures < step.max_attempts)
