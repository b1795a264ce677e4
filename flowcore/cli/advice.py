"""Why a step waits, and what a person can do next: read off the run and the clock, nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from flowcore.cli.display import span
from flowcore.cli.report.order import along_the_graph
from flowcore.domain.dependencies import was_blocked
from flowcore.domain.errors import Code
from flowcore.domain.manual import NEVER_AGAIN
from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from flowcore.domain.plan import DEFAULT_LEASE, MAX_NUDGES, READY_PATIENCE

WORKERS: Mapping[str, str] = {
    "OHLCV_EXPORT": "worker_ohlcv_export",
    "CHART_EXPORT": "worker_charts",
    "LLM_REPORT": "worker_llm_report",
}


def reasons(run: Run, now: datetime) -> dict[str, str]:
    """Each step that is not settled, and what it waits for; what comes first waits first."""
    if run.defect:
        return {}
    return {step.step_id: reason for step in along_the_graph(run.steps) if (reason := _reason(run, step, now))}


def next_things(run: Run, options: str = "", flow: str = "") -> list[str]:
    """Commands, most useful first; never empty. `options` name the world, `flow` is what the run was made from."""
    return [f"{command}{options}" for command in _next_things(run, flow)]


def _reason(run: Run, step: Step, now: datetime) -> str | None:
    match step.status:
        case StepStatus.PENDING:
            return _pending(run, step, now)
        case StepStatus.READY:
            return _ready(step, now)
        case StepStatus.RUNNING:
            return _running(step, now)
    return None


def _pending(run: Run, step: Step, now: datetime) -> str:
    missing = [name for name in step.depends_on if run.steps[name].status is not StepStatus.SUCCEEDED]
    if missing:
        return "waits for " + ", ".join(f"{name} ({run.steps[name].status})" for name in missing)
    if step.not_before and step.not_before > now:
        tried = f" after failure {step.failures} of {step.max_attempts}" if step.failures else ""
        return f"rests{tried}, not before {_clock(step.not_before)} (in {span(step.not_before - now)})"
    return "waits for advance_flow to offer it" + _looked_at(run, now)


def _ready(step: Step, now: datetime) -> str:
    who = WORKERS.get(step.step_type, f"a worker for {step.step_type}")
    if step.ready_at is None:
        return f"is offered; {who} should take it"
    since = f"READY since {_clock(step.ready_at)} ({span(now - step.ready_at)}); {who} should take it"
    offered = f", offered again {step.nudges} of {MAX_NUDGES} times" if step.nudges else ""
    late = f"; nobody does, is {who} deployed? flow doctor looks" if now - step.ready_at > READY_PATIENCE / 5 else ""
    return since + offered + late


def _running(step: Step, now: datetime) -> str:
    began = f" for {span(now - step.started_at)}" if step.started_at else ""
    ends = step.lease_ends(DEFAULT_LEASE)
    if ends is None:
        return f"attempt {step.attempt} is at work{began}"
    if ends <= now:
        return f"attempt {step.attempt} has not reported back; its lease ended {span(now - ends)} ago, sweep will act"
    return f"attempt {step.attempt} is at work{began}; its lease holds until {_clock(ends)} ({span(ends - now)} more)"


def _looked_at(run: Run, now: datetime) -> str:
    if run.wake_at is None or run.wake_at <= now + timedelta(seconds=1):
        return "; sweep will do it if no event comes"
    return f"; if no event comes, sweep does it after {_clock(run.wake_at)}"


def _next_things(run: Run, flow: str) -> Iterator[str]:
    match run.status:
        case _ if run.defect:
            yield "correct the flow (flow validate FILE) and start it anew with: flow run FILE"
        case RunStatus.PENDING | RunStatus.RUNNING:
            yield f"flow watch {run.run_id}"
        case RunStatus.SUCCEEDED:
            yield f"flow open {run.run_id}"
        case RunStatus.CANCELLED:
            yield f"flow rerun {run.run_id}"
        case RunStatus.FAILED:
            yield from _after_failure(run, flow)


def _after_failure(run: Run, flow: str) -> Iterator[str]:
    failed = run.in_status(StepStatus.FAILED)
    again = [step.step_id for step in failed if not (step.error and step.error.code in NEVER_AGAIN)]
    never = [step.step_id for step in failed if step.step_id not in again]
    if again:
        without = "".join(f" --skip {name}" for name in never)
        yield f"flow retry {run.run_id} {' '.join(again)}{without}"
    elif never and any(not was_blocked(step) and step.step_id not in never for step in run.steps.values()):
        yield f"flow skip {run.run_id} {' '.join(never)}"
    if any(step.error and step.error.code == Code.INVALID_STEP_INPUTS for step in failed):
        yield f"flow run {flow or 'FLOW'} --set NAME=VALUE"  # inputs never change: others are another run
    else:
        yield f"flow rerun {run.run_id}"
    yield f"flow logs {run.run_id}"


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"
