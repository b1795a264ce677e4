"""What a worker writes: it takes a step, and it records the step's end. Nothing else.

The claim's token is the proof of ownership. A commit may land and its reply be lost; the client library then tries
again and is told that its precondition failed. So nobody believes replies: the document is read again, and whoever
finds the token of their own claim in it, holds the step.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flowcore.domain import moves
from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from flowcore.domain.moves import Failed, Succeeded
from flowcore.domain.patch import NOTHING, Patch
from flowcore.domain.plan import written

# Younger RUNNING steps are left alone: their worker is most likely alive and about to record them.
ADOPTION_GRACE = timedelta(seconds=30)


def claimable(run: Run, step_type: str) -> Step | None:
    """The step that a worker of this type may take now: the first by step id, in a run that is still wanted."""
    if run.status is not RunStatus.RUNNING or run.cancel_requested or run.defect:
        return None
    ready = (step for step in run.in_status(StepStatus.READY) if step.step_type == step_type)
    return next((step for step in ready if run.dependencies_succeeded(step)), None)


def claim(run: Run, step_type: str, token: str, now: datetime, ttl: timedelta) -> Patch:
    """READY → RUNNING, for the holder of the token, until the lease ends."""
    step = claimable(run, step_type)
    if step is None or held(run, token):
        return NOTHING
    return written(run, run.with_steps(moves.claimed(step, token, now, ttl)), now)


def held(run: Run, token: str) -> Step | None:
    """The step that is claimed with this token."""
    for step in run.in_status(StepStatus.RUNNING):
        if step.lease and step.lease.token == token:
            return step
    return None


def finalize(run: Run, token: str, outcome: Succeeded | Failed, now: datetime) -> Patch:
    """RUNNING → SUCCEEDED or FAILED, by the holder alone: a worker that lost its claim writes nothing."""
    step = held(run, token)
    if step is None:
        return NOTHING
    if isinstance(outcome, Succeeded):
        after = moves.succeeded(step, outcome, now)
    else:
        after = moves.with_failure_counted(moves.failed(step, outcome.error, now, outcome.outputs))
    return written(run, run.with_steps(after), now)


def adoptable(run: Run, step_type: str, now: datetime) -> Step | None:
    """A step whose worker may have vanished between its object and its last write: worth one look for the object."""
    mine = [step for step in run.steps.values() if step.step_type == step_type]
    running = [step for step in mine if step.status is StepStatus.RUNNING]
    overdue = [step for step in running if step.started_at is None or now - step.started_at > ADOPTION_GRACE]
    lost_pointer = [step for step in mine if step.status is StepStatus.SUCCEEDED and not step.points_at_its_result]
    return next(iter(overdue + lost_pointer), None)


def adopt(run: Run, step_id: str, found: Succeeded, now: datetime) -> Patch:
    """Record the success of a step whose object was found. The object is the proof, so anybody may."""
    step = run.steps.get(step_id)
    if step and step.status is StepStatus.RUNNING:
        return written(run, run.with_steps(moves.succeeded(step, found, now)), now)
    if step and step.status is StepStatus.SUCCEEDED and not step.gcs_uri:
        return written(run, run.with_steps(moves.with_uri(step, found.gcs_uri)), now)
    return NOTHING
