"""What a reader of a run document may rely on (spec/state-machine.md), as complaints: none for a sound document."""

from collections.abc import Iterator

from flowcore.domain.model import Run, Step, StepStatus

_MAY_HAVE_AN_ERROR = (StepStatus.FAILED, StepStatus.SKIPPED)


def broken_promises(run: Run) -> list[str]:
    return [complaint for step in run.steps.values() for complaint in broken_promises_of(step)]


def broken_promises_of(step: Step) -> Iterator[str]:
    name = f"{step.step_id} is {step.status}"
    if step.error and step.status not in _MAY_HAVE_AN_ERROR:
        yield f"{name} and has the error {step.error.code}"
    if step.status is StepStatus.FAILED and not step.error:
        yield f"{name} without an error"
    if (step.lease is not None) != (step.status is StepStatus.RUNNING):
        yield f"{name} with the lease {step.lease}"
    if step.status is StepStatus.SUCCEEDED and not step.gcs_uri:
        yield f"{name} without outputs.gcs_uri"
    if step.not_before and step.status is not StepStatus.PENDING:
        yield f"{name} and rests until {step.not_before}"
    if step.status in (StepStatus.PENDING, StepStatus.READY) and (step.started_at or step.finished_at):
        yield f"{name}, yet began or ended"
