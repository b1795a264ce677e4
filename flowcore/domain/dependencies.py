"""Why a step cannot run: which settled step stands in its way, for good."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from flowcore.domain.errors import Code, StepError
from flowcore.domain.model import Run, Step, StepStatus

_IN_THE_WAY = (StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED)


def blockers(run: Run) -> Mapping[str, Step]:
    """For each step that can never become READY, the settled step that is the cause.

    A FAILED cause is named before any other, because it decides whether the run may still succeed. FAILED means
    here: without retries left; `plan` has put the others back to PENDING before it asks.
    """
    found: dict[str, Step] = {}
    if not run.in_status(*_IN_THE_WAY):
        return found
    # Dependencies come first, so one pass carries a cause down any number of levels.
    for name in TopologicalSorter({step.step_id: step.depends_on for step in run.steps.values()}).static_order():
        causes = [_cause(run.steps[dependency], found) for dependency in run.steps[name].depends_on]
        standing = [cause for cause in causes if cause]
        if standing:
            found[name] = next((cause for cause in standing if cause.status is StepStatus.FAILED), standing[0])
    return found


def was_blocked(step: Step) -> bool:
    """SKIPPED because something it needed did not succeed, and not by an operator's wish."""
    return step.status is StepStatus.SKIPPED and bool(step.error and step.error.code == Code.DEPENDENCY_NOT_SUCCEEDED)


def blocked_error(run: Run, blocker: Step | None) -> StepError:
    """What a SKIPPED step says of itself."""
    if blocker:
        message = f"needs {blocker.step_id!r}, which is {blocker.status}"
        details: dict[str, object] = {"dependency": blocker.step_id, "status": str(blocker.status)}
    else:
        message = f"the run was {run.status} before this step began"
        details = {"reason": "run_finished"}
    return StepError(Code.DEPENDENCY_NOT_SUCCEEDED, message, details=details)


def _cause(dependency: Step, found: Mapping[str, Step]) -> Step | None:
    if dependency.status is StepStatus.PENDING or was_blocked(dependency):
        inherited = found.get(dependency.step_id)
        if inherited or dependency.status is StepStatus.PENDING:
            return inherited
    return dependency if dependency.status in _IN_THE_WAY else None
