"""`sweep` for one run alone, with a clock that is hours ahead: nobody waits for a lease that nobody holds any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch
from flowcore.engine.sweep import Sweep
from flowcore.ports import DOCUMENT_CALL, Runs
from tests.chaos.twins.world import SILENT

SECONDS = 30.0


def sweep_ahead(runs: Runs, run_id: str, hours: int) -> None:
    with suppress(NetworkError):  # a fault that was meant for somebody else
        Sweep(OneRun(runs, run_id), AheadClock(timedelta(hours=hours)), SystemChance(), SILENT, SECONDS).minutely()


@dataclass(slots=True)
class AheadClock(SystemClock):
    ahead: timedelta

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True, slots=True)
class OneRun:
    """The runs, as though there were no other."""

    runs: Runs
    run_id: str

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        return self.runs.get(run_id, timeout)

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        return self.runs.update(run_id, patch, update_time, timeout)

    def due(self, now: datetime) -> Iterator[Snapshot]:
        found = self.runs.get(self.run_id)
        if found:
            wake = found.document.get("wakeAt")
            if found.document.get("status") == "PENDING" or (isinstance(wake, datetime) and wake <= now):
                yield found

    def unfinished(self) -> Iterator[Snapshot]:
        return iter(())
