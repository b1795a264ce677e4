"""A plan as a script, for people who would rather read or type it themselves."""

from __future__ import annotations

from collections.abc import Iterator

from deploy.commands import Step, shell
from deploy.plan import Plan


def script(plan: Plan) -> Iterator[str]:
    yield "#!/bin/sh"
    yield "# Each command is given only when the one in the comment before it does not find what is wished for."
    yield "set -eu"
    for path in plan.files:
        yield f"# reads {path}, which a dry run leaves there"
    for step in plan.steps:
        yield ""
        yield from _told(step)


def _told(step: Step) -> Iterator[str]:
    yield f"# {step.words}"
    if step.look:
        yield f"#   look: {shell(step.look)}"
    if step.change:
        yield f"#   where it is there, but not as wished: {shell(step.change.command)}"
    yield f'printf %s "${step.secret}" | {shell(step.command)}' if step.secret else shell(step.command)
