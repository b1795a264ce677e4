"""A worker's whole life: claim → is the result there already? → execute → store → finalize.

Every line of it may be the last one that the process runs, and every delivery may be a duplicate of another one at
work right now. What makes that safe: nothing is done before the claim is written, nothing is paid before the object
was looked for, and nobody but the claim's holder records a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from flowcore.domain.artifacts import DEFAULT_NAME, Artifact, main_object
from flowcore.domain.budget import Deadline, TimeBudget
from flowcore.domain.errors import Code, NetworkError, StepFailed, classify
from flowcore.domain.lifecycle import adopt, adoptable, claim, claimable, finalize, held
from flowcore.domain.model import Run, Snapshot, Step, StepStatus
from flowcore.domain.moves import Failed, Succeeded
from flowcore.domain.parse import parse_run
from flowcore.domain.plan import CLOCK_SKEW
from flowcore.domain.retry import POLICIES, Policy
from flowcore.engine.context import StepContext
from flowcore.engine.event import FlowEvent
from flowcore.engine.patience import Patience
from flowcore.engine.results import Results, as_success
from flowcore.engine.update import Contended, Decide, Updated, update
from flowcore.ports import Artifacts, Chance, Clock, Log, Runs

Inputs = TypeVar("Inputs")


@dataclass(frozen=True, slots=True)
class StepType(Generic[Inputs]):
    """What makes one worker different from another."""

    name: str
    read_inputs: Callable[[Mapping[str, object]], Inputs]
    execute: Callable[[StepContext, Inputs], Artifact]
    artifact_name: str = DEFAULT_NAME


@dataclass(frozen=True, slots=True)
class Worker(Generic[Inputs]):
    step_type: StepType[Inputs]
    runs: Runs
    artifacts: Artifacts
    clock: Clock
    chance: Chance
    log: Log
    budget: TimeBudget

    def handle(self, event: FlowEvent) -> None:
        """Serve one delivery: take at most one step, or finish one that a vanished worker left behind."""
        _Delivery(
            worker=self,
            event=event,
            token=self.chance.token(),
            deadline=self.budget.starting_at(self.clock.monotonic()),
            log=self.log.bind(run_id=event.run_id, event_id=event.event_id, step_type=self.step_type.name),
        ).serve()


@dataclass(frozen=True, slots=True)
class _Delivery(Generic[Inputs]):
    """One event in the hands of one invocation, with the token and the deadline of that invocation."""

    worker: Worker[Inputs]
    event: FlowEvent
    token: str
    deadline: Deadline
    log: Log

    def serve(self) -> None:
        wanted = None
        if self.event.snapshot:
            # The event's own snapshot is the first read: a delivery that is not for us costs no call at all.
            seen = parse_run(self.event.snapshot)
            wanted = claimable(seen, self._type)
            if wanted is None:
                self._adopt(seen, self.event.snapshot, adoptable(seen, self._type, self.worker.clock.now()))
                return
        claimed = self._claim()
        if claimed is None or claimed.run is None:
            return
        step = held(claimed.run, self.token)
        if step is None:
            self._adopt(claimed.run, claimed.snapshot, self._left_behind(claimed.run, wanted))
            return
        log = self.log.bind(step_id=step.step_id, attempt=step.attempt)
        log.info("step_claimed", conflicts=claimed.conflicts)
        self._record(claimed.snapshot, self._outcome(claimed.run, step, log), log)

    def _claim(self) -> Updated | None:
        ttl = timedelta(seconds=self.worker.budget.invocation) + CLOCK_SKEW
        try:
            claimed = self._update(
                self.event.snapshot,
                lambda run: claim(run, self._type, self.token, self.worker.clock.now(), ttl),
                "claim",
            )
        except Contended:
            self.log.info("event_noop", reason="claim_conflict", code=Code.STEP_CLAIM_CONFLICT)
            return None
        except NetworkError as silence:
            self.log.error("claim_failed", code=silence.error.code)
            raise
        except Exception as exc:
            self.log.error("claim_failed", code=Code.FIRESTORE_CLAIM_FAILED, exc_info=exc)
            raise
        if claimed.run is None:
            self.log.info("event_ignored", reason="flow_run_not_found", code=Code.FLOW_RUN_NOT_FOUND)
        return claimed

    def _left_behind(self, run: Run, wanted: Step | None) -> Step | None:
        """After a lost claim: the step we came for, if it is RUNNING now; its worker may have vanished already."""
        now_there = run.steps.get(wanted.step_id) if wanted else None
        if now_there and now_there.status is StepStatus.RUNNING:
            return now_there
        return adoptable(run, self._type, self.worker.clock.now())

    def _adopt(self, run: Run, snapshot: Snapshot | None, step: Step | None) -> None:
        """Record the step whose object is there though nobody recorded it. At most one look per delivery."""
        if step is None:
            self._log_noop(run)
            return
        log = self.log.bind(step_id=step.step_id)
        try:
            found = self._results().existing(run.run_id, step, self._object_name(run, step))
        except StepFailed as failure:
            # Not ours to fail: the claim's holder will come to the same end, or its lease will.
            log.warning("adoption_declined", code=failure.error.code, reason=failure.error.message)
            return
        if found is None:
            log.info("event_noop", reason="step_running")
            return
        result, now = as_success(found, reused=True), self.worker.clock.now
        done = self._update(snapshot, lambda run: adopt(run, step.step_id, result, now()), "finalize")
        if done.patch:
            log.info("step_adopted", uri=found.uri)

    def _outcome(self, run: Run, step: Step, log: Log) -> Succeeded | Failed:
        """Whatever happens in here has an outcome: a living process never leaves its step RUNNING."""
        try:
            results = self._results()
            name = self._object_name(run, step)
            found = results.existing(run.run_id, step, name)
            if found:
                return as_success(found, reused=True)
            inputs = self.worker.step_type.read_inputs(step.inputs)
            context = StepContext(run, step, results, name, self.deadline, self.worker.clock, self.worker.chance, log)
            return results.put(run.run_id, step, name, self.worker.step_type.execute(context, inputs))
        except StepFailed as failure:
            return Failed(failure.error, failure.outputs)
        except Exception as exc:
            log.error("step_crashed", exc_info=exc)
            return Failed(classify(exc))

    def _record(self, snapshot: Snapshot | None, outcome: Succeeded | Failed, log: Log) -> None:
        now = self.worker.clock.now
        try:
            done = self._update(snapshot, lambda run: finalize(run, self.token, outcome, now()), "finalize")
        except Exception as exc:
            # The redelivered event will find the object, or the lease will end: the step is not forgotten.
            log.error("finalize_failed", code=Code.FIRESTORE_FINALIZE_FAILED, exc_info=exc)
            raise
        if not done.patch:
            log.info("event_noop", reason="already_final", code=Code.STEP_FINALIZE_CONFLICT)
        elif isinstance(outcome, Succeeded):
            log.info("step_succeeded", uri=outcome.gcs_uri, reused=outcome.reused, conflicts=done.conflicts)
        else:
            log.warning("step_failed", code=outcome.error.code, retryable=outcome.error.retryable)

    def _log_noop(self, run: Run) -> None:
        mine = [step for step in run.in_status(StepStatus.READY) if step.step_type == self._type]
        if any(not run.dependencies_succeeded(step) for step in mine):
            self.log.info("event_noop", reason="dependency_not_succeeded", code=Code.DEPENDENCY_NOT_SUCCEEDED)
        else:
            self.log.info("event_noop", reason="no_ready_step", code=Code.NO_READY_STEP)

    @property
    def _type(self) -> str:
        return self.worker.step_type.name

    def _object_name(self, run: Run, step: Step) -> str:
        return main_object(run.run_id, step, self.worker.step_type.artifact_name)

    def _results(self) -> Results:
        # Storing may use half of the reserve; the other half belongs to the last write of the run.
        ends, reserve = self.deadline.ends, self.deadline.reserve
        return Results(
            self.worker.artifacts,
            reading=self._patience("gcs_read", ends - reserve),
            writing=self._patience("gcs_write", ends - reserve / 2),
        )

    def _update(self, snapshot: Snapshot | None, decide: Decide, races: str) -> Updated:
        # A claim must leave time for the work; the last write of a step may use all there is.
        last = races == "finalize"
        ends = self.deadline.ends if last else self.deadline.ends - self.deadline.reserve
        patience = self._patience("firestore_finalize" if last else "firestore", ends, POLICIES[races])
        return update(self.worker.runs, self.event.run_id, snapshot, decide, patience)

    def _patience(self, silence: str, ends: float, races: Policy | None = None) -> Patience:
        return Patience(POLICIES[silence], self.worker.clock, self.worker.chance, ends, races)
