"""The list of the deployable functions, for whoever runs or deploys them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Deployable:
    """`run_triggered`: told of each write of a run; otherwise it answers HTTP."""

    name: str
    run_triggered: bool
    timeout: float
    concurrency: int
    memory: str
    cpu: int
    max_instances: int
    min_instances: int
    environment: Mapping[str, str]
    schedules: Mapping[str, float]  # query → seconds between two calls

    @property
    def folder(self) -> Path:
        return _FOLDER / self.name


def deployables() -> list[Deployable]:
    listed = tomllib.loads((_FOLDER / "functions.toml").read_text("utf-8"))
    return [
        Deployable(
            name,
            run_triggered=about["trigger"] == "run",
            timeout=about["timeout"],
            concurrency=about["concurrency"],
            memory=about["memory"],
            cpu=about["cpu"],
            max_instances=about["max_instances"],
            min_instances=about["min_instances"],
            environment={
                "INVOCATION_TIMEOUT_SECONDS": str(about["timeout"]),
                "GEMINI_TIMEOUT_SECONDS": str(about["provider"]),
                "FINALIZE_BUDGET_SECONDS": str(about["finalize"]),
            },
            schedules={schedule.get("query", ""): schedule["every"] for schedule in about.get("schedules", [])},
        )
        for name, about in listed.items()
    ]
