"""`sweep` for one run alone, with a clock that is hours ahead: nobody waits for a lease that nobody holds any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch
from flowcore.engine.sweep import Sweep
from flowcore.ports import DOCUMENT_CALL, Runs
from tests.chaos.twins.world import SILENT

SECONDS = 30.0


def sweep_ahead(runs: Runs, run_id: str, hours: int) -> OneRun:
    one = OneRun(runs, run_id)
    with suppress(NetworkError):
        Sweep(one, AheadClock(timedelta(hours=hours)), SystemChance(), SILENT, SECONDS).minutely()
    return one


@dataclass(slots=True)
class AheadClock(SystemClock):
    ahead: timedelta

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(slots=True)
class OneRun:
    """The runs, as though there were no other; knows what was written through it, and when."""

    runs: Runs
    run_id: str
    written: list[datetime] = field(default_factory=list)
    met_a_fault: bool = False  # which was meant for a function; nobody knows whether that write landed

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        with self._noticing():
            return self.runs.get(run_id, timeout)

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        with self._noticing():
            when = self.runs.update(run_id, patch, update_time, timeout)
        self.written.append(when)
        return when

    def due(self, now: datetime) -> Iterator[Snapshot]:
        found = self.get(self.run_id)
        if found:
            wake = found.document.get("wakeAt")
            if found.document.get("status") == "PENDING" or (isinstance(wake, datetime) and wake <= now):
                yield found

    def unfinished(self) -> Iterator[Snapshot]:
        return iter(())

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except NetworkError:
            self.met_a_fault = True
            raise
