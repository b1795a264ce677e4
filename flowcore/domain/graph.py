"""What makes a set of steps impossible to run, however long one waits."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from flowcore.domain.artifacts import main_object
from flowcore.domain.errors import StepFailed, shown
from flowcore.domain.model import Defect, Step


def find_defect(run_id: str, steps: Mapping[str, Step]) -> Defect | None:
    """The first reason why these steps can never all be settled; None for a sound graph."""
    return _unknown_dependency(steps) or _cycle(steps) or _shared_object(run_id, steps)


def _unknown_dependency(steps: Mapping[str, Step]) -> Defect | None:
    for step in steps.values():
        for position, name in enumerate(step.depends_on):
            if name not in steps:
                return Defect(f"steps.{step.step_id}.dependsOn[{position}]", f"{shown(name)} is not a step of this run")
    return None


def _cycle(steps: Mapping[str, Step]) -> Defect | None:
    try:
        TopologicalSorter({name: step.depends_on for name, step in steps.items()}).prepare()
    except CycleError as error:
        # graphlib lists a cycle along "is needed by"; people read "depends on".
        around: list[str] = error.args[1][::-1]
        return Defect(f"steps.{around[0]}.dependsOn", "goes in a circle: " + " → ".join(around))
    return None


def _shared_object(run_id: str, steps: Mapping[str, Step]) -> Defect | None:
    """Two steps with one object: the second would take the first one's result for its own."""
    owners: dict[str, str] = {}
    for step in steps.values():
        try:
            name = main_object(run_id, step)
        except StepFailed:
            continue  # the step's own failure, said by its worker with the field's path
        if name in owners:
            return Defect(f"steps.{step.step_id}", f"would write the same object as {owners[name]!r}: {name}")
        owners[name] = step.step_id
    return None
