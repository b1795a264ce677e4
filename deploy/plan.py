"""What a deployment consists of, from the first service to the first flow: a list of steps, in order.

Pure: it asks nobody and changes nothing. Each step has a command that looks and one that does; whoever carries the plan
out does what the look does not find. So a plan can be carried out as often as one likes, and be taken up again where
it broke off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deploy.commands import Step
from deploy.database import database, indexes, rules
from deploy.dead_letters import dead_letters
from deploy.grants import accounts, bucket_grants, project_grants, secret_grant
from deploy.ground import LIFECYCLE, bucket, lifecycle, secret, secrets, services
from deploy.observing import files as observability_files
from deploy.observing import observing
from deploy.rollout import in_order, rollout, variables_file
from deploy.schedules import schedules
from deploy.target import Target
from functions.catalogue import Deployable

STAGE, FILES = "build/stage", "build/deploy"


@dataclass(frozen=True, slots=True)
class Wishes:
    """How this once differs from every other time."""

    rollback: bool = False  # older sources than those deployed: the other order, and no seeds
    replace_trigger: bool = False
    keep_rules: bool = False


AS_ALWAYS = Wishes()


@dataclass(frozen=True, slots=True)
class Plan:
    files: Mapping[str, str]  # what the commands read, by its path under the project's root
    steps: Sequence[Step]


def plan(
    target: Target, functions: Sequence[Deployable], digests: Mapping[str, str], wishes: Wishes = AS_ALWAYS
) -> Plan:
    """`digests`: a hash of each function's staged sources."""
    folder = f"{FILES}/{target.project}/{target.environment}"
    files = {f"{folder}/{LIFECYCLE}": lifecycle(target)}
    files |= {f"{folder}/{each.name}.env.yaml": variables_file(target, each) for each in functions}
    files |= {f"{folder}/{name}": content for name, content in observability_files(target)}
    return Plan(files, list(_steps(target, functions, digests, wishes, folder)))


def _steps(
    target: Target, functions: Sequence[Deployable], digests: Mapping[str, str], wishes: Wishes, folder: str
) -> Iterator[Step]:
    names = [function.name for function in functions]
    yield services(target)
    yield from accounts(target, names)
    yield from project_grants(target, names)
    yield bucket(target, f"{folder}/{LIFECYCLE}")
    yield from bucket_grants(target)
    for variable, name, reader in secrets(target):
        yield from secret(target, variable, name)
        yield secret_grant(target, name, reader)
    yield database(target)
    if not wishes.keep_rules:
        yield rules(target)
    yield from indexes(target)
    yield from dead_letters(target)
    for function in in_order(functions, rollback=wishes.rollback):
        yield from rollout(
            target,
            function,
            f"{STAGE}/{function.name}",
            f"{folder}/{function.name}.env.yaml",
            digests[function.name],
            replace=wishes.replace_trigger,
        )
    yield from schedules(target, functions)
    yield from observing(target, folder)
    if not wishes.rollback:
        yield _seeds(target)


def _seeds(target: Target) -> Step:
    return Step(
        "schemas, prompts, chart templates and flows; what somebody has changed is kept",
        ("flow", "seed", f"--project={target.project}", f"--database={target.database}"),
    )
