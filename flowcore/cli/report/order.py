"""In which order people read steps: along the graph, and reports from the conclusion backwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from flowcore.domain.model import Step
from flowcore.domain.times import from_value

REPORT = "LLM_REPORT"
_NEVER = datetime.max.replace(tzinfo=UTC)


def along_the_graph(steps: Mapping[str, Step]) -> list[Step]:
    """No step before one that it depends on; of several that could be next, the one that began first."""
    left = dict(steps)
    ordered = []
    while left:
        # A circle has no beginning. Such a run is broken, but its page is still to be shown.
        free = [step for step in left.values() if left.keys().isdisjoint(step.depends_on)] or left.values()
        following = min(free, key=lambda step: (_began(step), step.step_id))
        ordered.append(left.pop(following.step_id))
    return ordered


def conclusions_first(ordered: Iterable[Step], steps: Mapping[str, Step]) -> list[tuple[Step, int]]:
    """The reports, each with the number of reports that it rests on; whatever sums up the others is read first."""
    reports = [(step, _reports_below(step, steps)) for step in ordered if step.step_type == REPORT]
    return sorted(reports, key=lambda report: -report[1])


def _reports_below(step: Step, steps: Mapping[str, Step]) -> int:
    below: set[str] = set()
    todo = list(step.depends_on)
    while todo:
        name = todo.pop()
        if name in steps and name not in below:
            below.add(name)
            todo += steps[name].depends_on
    return sum(steps[name].step_type == REPORT for name in below - {step.step_id})


def _began(step: Step) -> datetime:
    first = from_value(step.attempts[0].get("startedAt")) if step.attempts else None
    return first or step.started_at or step.ready_at or _NEVER
