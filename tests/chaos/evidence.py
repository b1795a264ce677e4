"""What the auditor goes by: records of what happened, what is known so far, and the name of a step's one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tests.chaos.transitions import Document, steps_of


class Recorded(Protocol):
    """What is asked of a record. `time` is in seconds since 1970; `detail` differs by kind."""

    @property
    def time(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def service(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def detail(self) -> Mapping[str, Any]: ...


class Claim(NamedTuple):
    run: str
    step: str
    token: str


@dataclass(slots=True)
class Known:
    """The world as the records so far have told it, and what was broken in it."""

    runs: dict[str, Document] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)  # their names, without a bucket
    claims: dict[str, Claim] = field(default_factory=dict)  # by token
    claims_of: Counter[tuple[str, str]] = field(default_factory=Counter)  # by run and step
    broken: list[str] = field(default_factory=list)

    def step(self, run_id: str, step_id: str) -> Document:
        """Empty when there is none, any more."""
        return steps_of(self.runs[run_id]).get(step_id, {}) if run_id in self.runs else {}

    def say(self, where: str, what: str) -> None:
        self.broken.append(f"{where}: {what}")


def name_of(run_id: str, step_id: str, step: Document) -> str:
    """The one object that is a step's result, from the table of spec/artifacts.md."""
    match step["stepType"]:
        case "OHLCV_EXPORT":
            return f"runs/{run_id}/ohlcv/{step.get('timeframe')}.json"
        case "CHART_EXPORT":
            return f"charts/{run_id}/{step_id}/manifest.json"
        case "LLM_REPORT":
            return f"runs/{run_id}/reports/{step.get('timeframe')}/{step_id}.json"
        case _:
            return f"runs/{run_id}/steps/{step_id}/result"
