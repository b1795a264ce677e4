"""What no event will do: leases that ended, rests that are over, steps that nobody took, events that got lost.

It asks for the runs that need it and pays for those alone. One broken run never stops the rest: its failure is
logged and counted, and the next sweep meets it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowcore.domain.model import Snapshot
from flowcore.domain.plan import plan
from flowcore.domain.retry import POLICIES
from flowcore.engine.advance import log_moves
from flowcore.engine.patience import Patience
from flowcore.engine.update import update
from flowcore.ports import Chance, Clock, Log, Runs


@dataclass(frozen=True, slots=True)
class SweepReport:
    seen: int
    changed: int
    failed: int
    unfinished: bool = False  # time was up before the last run was seen


@dataclass(frozen=True, slots=True)
class Sweep:
    runs: Runs
    clock: Clock
    chance: Chance
    log: Log
    seconds: float  # how long one invocation may take

    def minutely(self) -> SweepReport:
        """Runs whose `wakeAt` has come, and those that no function has seen yet."""
        return self._sweep(full=False)

    def hourly(self) -> SweepReport:
        """Every unfinished run: the net under the net."""
        return self._sweep(full=True)

    def _sweep(self, *, full: bool) -> SweepReport:
        ends = self.clock.monotonic() + self.seconds
        seen = changed = failed = 0
        unfinished = False
        for snapshot in self.runs.unfinished() if full else self.runs.due(self.clock.now()):
            if self.clock.monotonic() >= ends:
                unfinished = True  # the rest is still due, and the next sweep will ask for it again
                break
            seen += 1
            try:
                changed += self._settle(snapshot, ends)
            except Exception as exc:
                failed += 1
                self.log.error("sweep_failed", run_id=snapshot.run_id, exc_info=exc)
        report = SweepReport(seen, changed, failed, unfinished)
        self.log.info("sweep_finished", seen=seen, changed=changed, failed=failed, unfinished=unfinished)
        return report

    def _settle(self, snapshot: Snapshot, ends: float) -> bool:
        patience = Patience(POLICIES["firestore"], self.clock, self.chance, ends, races=POLICIES["sweep"])
        done = update(self.runs, snapshot.run_id, snapshot, lambda run: plan(run, self.clock.now()), patience)
        log_moves(self.log.bind(run_id=snapshot.run_id), done.patch)
        return bool(done.patch)
