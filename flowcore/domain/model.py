"""What a run is: frozen, typed, and free of anything that a document may get wrong.

Nothing here reads raw documents (`parse` does, alone) and nothing here decides (`plan` and `lifecycle` do). A
transition is a new `Run`; what changed between two of them is a `Patch`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from flowcore.domain.errors import StepError

# A document id that may become a segment of an object name: no dots, no slashes, nothing that needs quoting.
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

# `. / ~ * [ ]` and the back-tick have a meaning in field paths, control characters and dunders none that we want; the
# last ones cannot be seen, or turn the direction of writing, so that a name looks like another.
_NOT_A_NAME = re.compile(
    r"[./~*\[\]`\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|^__.*__$|^\s|\s$"
)
NAME_LIMIT = 128

MAX_STEPS = 200
MAX_DOCUMENT_BYTES = 200_000
DEFAULT_MAX_ATTEMPTS = 3

NO_VALUES: Mapping[str, object] = MappingProxyType({})


def no_values() -> Mapping[str, object]:
    return NO_VALUES


def is_name(text: object) -> bool:
    """Whether a text can stand in a field path and in an object name as it is."""
    return isinstance(text, str) and 0 < len(text) <= NAME_LIMIT and not _NOT_A_NAME.search(text)


class RunStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def finished(self) -> bool:
        return self not in (RunStatus.PENDING, RunStatus.RUNNING)


class StepStatus(StrEnum):
    PENDING = "PENDING"
    READY = "READY"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on a step, and until when that is believed without further word."""

    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Step:
    step_id: str
    step_type: str
    status: StepStatus
    depends_on: tuple[str, ...] = ()
    optional: bool = False
    timeframe: str | None = None
    inputs: Mapping[str, object] = field(default_factory=no_values)
    outputs: Mapping[str, object] = field(default_factory=no_values)
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    # Three counters, because they answer three questions: which attempt is this (only ever grows), how often did
    # the step fail (compared with max_attempts), how often did its worker vanish (that is not the step's fault).
    attempt: int = 0
    failures: int = 0
    lease_losses: int = 0
    nudges: int = 0
    lease: Lease | None = None
    error: StepError | None = None
    ready_at: datetime | None = None
    not_before: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempts: tuple[Mapping[str, object], ...] = ()

    @property
    def gcs_uri(self) -> str | None:
        uri = self.outputs.get("gcs_uri")
        return uri if isinstance(uri, str) and uri else None

    @property
    def points_at_its_result(self) -> bool:
        """Chart steps of older documents have the pointer to their manifest alone."""
        return bool(self.gcs_uri or self.outputs.get("outputsManifestGcsUri"))

    def lease_ends(self, default_ttl: timedelta) -> datetime | None:
        """When the claim may be considered lost. Documents from before leases have `startedAt` alone."""
        if self.lease:
            return self.lease.expires_at
        return self.started_at + default_ttl if self.started_at else None


@dataclass(frozen=True, slots=True)
class Defect:
    """Why a document cannot be a run, and where in it."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Run:
    run_id: str
    status: RunStatus
    steps: Mapping[str, Step] = field(default_factory=dict)
    cancel_requested: bool = False
    scope: Mapping[str, object] = field(default_factory=no_values)
    error: StepError | None = None
    wake_at: datetime | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None
    # A broken document is still a run that has to be ended; its `steps` are those that could be read.
    defect: Defect | None = None

    def with_steps(self, *changed: Step) -> Run:
        return replace(self, steps={**self.steps, **{step.step_id: step for step in changed}}) if changed else self

    def in_status(self, *statuses: StepStatus) -> list[Step]:
        """The steps in any of these states, by step id: the order of every decision about several steps."""
        return [step for step in self.steps.values() if step.status in statuses]

    def dependencies_succeeded(self, step: Step) -> bool:
        found = [self.steps.get(name) for name in step.depends_on]
        return all(dependency and dependency.status is StepStatus.SUCCEEDED for dependency in found)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run document as it was at one moment; `update_time` is what makes a patch decided on it conditional."""

    run_id: str
    document: Mapping[str, object]
    update_time: datetime
