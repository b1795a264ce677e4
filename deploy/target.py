"""Where a deployment goes, and how everything there is called: each name begins with the environment's.

So environments live side by side in one project and never touch each other's functions, runs, objects, accounts or
secrets. What `flow seed` brings (flow definitions, prompts, schemas, templates) carries its version in its id and is
shared.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent / "environments.toml"
_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


class InvalidTarget(Exception):
    """The message says which setting cannot be used, and what it has to be."""


@dataclass(frozen=True, slots=True)
class FlowSchedule:
    flow: str
    schedule: str  # as cron writes it, in UTC
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    environment: str
    project: str
    region: str
    trigger_location: str  # the database's: a multi-region such as nam5 is served by functions of one of its regions
    database: str
    candles_table: str
    charts_renderer: str
    variables: Mapping[str, str]  # besides those that follow from the target
    artifacts_days: int
    flows: Sequence[FlowSchedule]
    alert_email: str = ""

    def named(self, name: str) -> str:
        """A resource of this environment: functions, accounts, secrets, topics, jobs."""
        return f"{self.environment}-{name.replace('_', '-')}"

    def email(self, account: str) -> str:
        return f"{self.named(account)}@{self.project}.iam.gserviceaccount.com"

    @property
    def runs_collection(self) -> str:
        return f"{self.environment}_flow_runs"

    @property
    def bucket(self) -> str:
        return f"{self.project}-{self.environment}-artifacts"


def target(
    environment: str, project: str, region: str, trigger_location: str | None = None, settings: Path = ENVIRONMENTS
) -> Target:
    known = tomllib.loads(settings.read_text("utf-8"))
    if environment not in known:
        raise InvalidTarget(f"--env {environment}: {settings.name} knows {', '.join(known)}")
    if not _PROJECT.fullmatch(project):
        raise InvalidTarget(f"--project {project}: must be the id of a project, such as my-project-1")
    if not _REGION.fullmatch(region):
        raise InvalidTarget(f"--region {region}: must be a region, such as europe-west1")
    chosen = known[environment]
    return Target(
        environment,
        project,
        region,
        trigger_location or region,
        database=chosen["database"],
        candles_table=chosen["candles_table"],
        charts_renderer=chosen["charts_renderer"],
        variables=chosen.get("variables", {}),
        artifacts_days=chosen["artifacts_days"],
        flows=[
            FlowSchedule(each["flow"], each["schedule"], each.get("parameters", {})) for each in chosen.get("flows", [])
        ],
        alert_email=chosen.get("alert_email", ""),
    )
