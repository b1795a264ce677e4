"""`sweep` for one run alone, with a clock that is hours ahead: nobody waits for a lease that nobody holds any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch
from flowcore.engine.sweep import Sweep
from flowcore.engine.update import Contended
from flowcore.ports import DOCUMENT_CALL, Runs
from tests.chaos.twins.world import Log

SECONDS = 30.0


def sweep_ahead(runs: Runs, run_id: str, hours: int) -> bool:
    """Whether it met a fault, which was meant for a function; then nobody knows whether its write landed."""
    one = OneRun(runs, run_id)
    with suppress(NetworkError):
        Sweep(one, AheadClock(timedelta(hours=hours)), SystemChance(), Log(_heard), SECONDS).minutely()
    return one.met_a_fault


def _heard(where: str, raised: object) -> None:
    """A sweep goes on after whatever one run did to it; here that is nobody's excuse."""
    if isinstance(raised, Exception) and not isinstance(raised, (NetworkError, Contended)):
        raise RuntimeError(where) from raised


@dataclass(slots=True)
class AheadClock(SystemClock):
    ahead: timedelta

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(slots=True)
class OneRun:
    """The runs, as though there were no other."""

    runs: Runs
    run_id: str
    met_a_fault: bool = False

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        with self._noticing():
            return self.runs.get(run_id, timeout)

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        with self._noticing():
            return self.runs.update(run_id, patch, update_time, timeout)

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
