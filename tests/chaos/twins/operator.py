"""Somebody who cancels in the middle, retries and skips; in a minority of the schedules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from flowcore.domain import manual
from flowcore.domain.model import Run
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import Patch
from tests.chaos.transitions import FINISHED
from tests.chaos.twins.simulation import Simulation


@dataclass(slots=True)
class Operator:
    simulation: Simulation
    chance: Random
    acted: Counter[str] = field(default_factory=Counter)
    _patience: int = 0

    def plan(self) -> None:
        if self.chance.random() < 0.12:
            self.simulation.at(self.chance.expovariate(1 / 120), self._cancel)
        if self.chance.random() < 0.1:
            self.simulation.at(self.chance.expovariate(1 / 300), self._wish)
        self._patience = self.chance.choice((0, 0, 1, 2))

    def reopens(self) -> bool:
        """After the end: whether a failed run was given another chance."""
        if self._patience == 0 or self.simulation.document["status"] != "FAILED" or self.simulation.restless:
            return False
        self._patience -= 1
        before = self.acted.total()
        self._wish()
        return self.acted.total() > before

    def _cancel(self) -> None:
        document = self.simulation.document
        if document["status"] in FINISHED:
            return
        match self.chance.randrange(3):
            case 0:
                self._write("a cancel", Patch({"cancelRequested": True}))
            case 1 if "wakeAt" in document:  # without it, an edit whose event is lost is seen by nobody
                self._write("a cancel by status", Patch({"status": "CANCELLED"}))
            case _:
                self._write("a cancel with all that follows", manual.cancel(self._run(), self._now()))

    def _wish(self) -> None:
        run = self._run()
        failed = [step.step_id for step in run.steps.values() if step.status == "FAILED"]
        waiting = [step.step_id for step in run.steps.values() if step.status in ("PENDING", "READY")]
        skipped = [name for name in failed if self.chance.random() < 0.5]
        skipped += [name for name in waiting if self.chance.random() < 0.3]
        retried = [name for name in failed if name not in skipped]
        try:
            self._write("a manual retry or skip", manual.reopen(run, self._now(), retry=retried, skip=skipped))
        except manual.Refused:
            return

    def _write(self, kind: str, patch: Patch) -> None:
        world = self.simulation.world
        if not patch:
            return
        world.runs.update(self.simulation.latest.run_id, patch, self.simulation.latest.update_time)
        world.note_write(None, by_hand=True)
        self.acted[kind] += 1
        self.simulation.at(world.now, self.simulation.announce)

    def _run(self) -> Run:
        return parse_run(self.simulation.latest)

    def _now(self) -> datetime:
        return self.simulation.world.time()
