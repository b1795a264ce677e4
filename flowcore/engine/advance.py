"""The orchestrator's answer to an event: plan the run, write the plan, say what moved."""

from __future__ import annotations

from dataclasses import dataclass

from flowcore.domain.errors import Code
from flowcore.domain.patch import Patch
from flowcore.domain.plan import plan
from flowcore.domain.retry import POLICIES
from flowcore.engine.event import FlowEvent
from flowcore.engine.patience import Patience
from flowcore.engine.update import update
from flowcore.ports import Chance, Clock, Log, Runs


@dataclass(frozen=True, slots=True)
class Advance:
    runs: Runs
    clock: Clock
    chance: Chance
    log: Log
    seconds: float  # how long one invocation may take

    def handle(self, event: FlowEvent) -> None:
        """Exceptions are for the platform: it delivers the event again."""
        log = self.log.bind(run_id=event.run_id, event_id=event.event_id)
        ends = self.clock.monotonic() + self.seconds
        patience = Patience(POLICIES["firestore"], self.clock, self.chance, ends, races=POLICIES["advance"])
        done = update(self.runs, event.run_id, event.snapshot, lambda run: plan(run, self.clock.now()), patience)
        if done.run is None:
            log.info("event_ignored", reason="flow_run_not_found", code=Code.FLOW_RUN_NOT_FOUND)
        elif not done.patch:
            log.info("event_noop", reason="nothing_to_do")
        log_moves(log, done.patch)


def log_moves(log: Log, patch: Patch) -> None:
    """One line for each thing that moved."""
    for path, value in patch.changes.items():
        match path.split("."):
            case ["steps", step_id, "status"]:
                log.info("step_moved", step_id=step_id, status=value)
            case ["steps", step_id, "nudges"] if value:
                log.warning("step_nudged", step_id=step_id, nudges=value)
            case ["steps", step_id, "leaseLosses"]:
                log.warning("lease_lost", step_id=step_id, losses=value)
            case ["status"]:
                log.info("run_moved", status=value)
            case ["error"]:
                log.error("run_invalid", error=value)
