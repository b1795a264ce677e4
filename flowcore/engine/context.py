"""What a step may touch while it runs: its own inputs, the results of others, objects of its own, and the time left.

It may not touch the run document. Recording is the engine's business, and a step that cannot write cannot race.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from flowcore.domain.artifacts import Artifact, side_object
from flowcore.domain.budget import Deadline
from flowcore.domain.errors import Code, ValidationError
from flowcore.domain.model import Run, Step, StepStatus
from flowcore.domain.retry import POLICIES
from flowcore.engine.patience import Patience
from flowcore.engine.results import Results
from flowcore.ports import Chance, Clock, Log, StoredObject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepContext:
    run: Run
    step: Step
    results: Results
    main_object: str
    deadline: Deadline
    clock: Clock
    chance: Chance
    log: Log

    @property
    def scope(self) -> Mapping[str, object]:
        return self.run.scope

    def room(self) -> float:
        """Seconds that a call begun now may take, with the reserve for recording its result kept back."""
        return self.deadline.room(self.clock.monotonic())

    @property
    def uri(self) -> str:
        """Where this step's result will lie."""
        return self.results.artifacts.uri(self.main_object)

    def uri_of(self, step_id: str, named_by: str, output: str = "gcs_uri") -> str:
        """Where another step's result lies. `named_by` is the input that names the step, for the message."""
        where = f"steps.{self.step.step_id}.inputs.{named_by}"
        other = self.run.steps.get(step_id)
        if other is None:
            raise ValidationError(Code.INVALID_STEP_INPUTS, f"{where}: {step_id!r} is not a step of this run")
        uri = other.outputs.get(output)
        if other.status is not StepStatus.SUCCEEDED or not isinstance(uri, str) or not uri:
            raise ValidationError(
                Code.INVALID_STEP_INPUTS, f"{where}: {step_id!r} is {other.status}, its outputs.{output} cannot be used"
            )
        return uri

    def read(self, uri: str) -> bytes:
        return self.results.reading.persist(lambda timeout: self.results.artifacts.read(uri, timeout))

    def patiently(self, policy: str, call: Callable[[float], T]) -> T:
        """Call the outside, with the seconds it may take, as often as the named policy says while there is room."""
        ends = self.deadline.ends - self.deadline.reserve
        return Patience(POLICIES[policy], self.clock, self.chance, ends).persist(call)

    def kept(self, name: str) -> StoredObject | None:
        """What an earlier attempt of this step kept under that name: it need not be made, or paid for, again."""
        return self.results.existing(self.run.run_id, self.step, side_object(self.run.run_id, self.step, name))

    def keep(self, name: str, artifact: Artifact) -> str:
        """Store an object beside the step's result, once; returns its URI."""
        path = side_object(self.run.run_id, self.step, name)
        if path == self.main_object:
            raise ValidationError(Code.INVALID_STEP_INPUTS, f"{name!r} is the name of the step's own result")
        return self.results.put(self.run.run_id, self.step, path, artifact).gcs_uri
