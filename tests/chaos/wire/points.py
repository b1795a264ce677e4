"""Where things can go wrong on the wire, found by tracing an undisturbed run, and what can go wrong there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from emulator.faults import Fault, Faults, Handle, drop_after, hang, kill, shape, status
from emulator.history import Record
from tests.chaos.wire.arena import HANGS

KINDS = {
    "dies before": kill(),
    "dies after": kill(applied=True),
    "loses the reply of": drop_after(),
    "is told 503 by": status(503),
    "waits in vain for": hang(HANGS),
}
A_WHILE = 0.3  # seconds that an event is late
_RUN = "{run}"


class Point(NamedTuple):
    """The nth call of a kind in the life of a run, counted from 0."""

    service: str
    method: str
    resource: str  # with a place for the run's id; without one the call may be any run's
    nth: int

    def __str__(self) -> str:
        return f"{self.service} {self.method} {self.resource} #{self.nth}"


class Trouble(NamedTuple):
    point: Point
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.point}"

    def planned(self, faults: Faults, run_id: str) -> Handle:
        point, action = self.point, KINDS[self.kind]
        return faults.add(
            service=point.service,
            method=point.method,
            resource=point.resource.replace(_RUN, run_id),
            action=action,
            skip=point.nth - _ours(point, action),
            times=1,
        )


class Weather(NamedTuple):
    """What happens to a part of a run's events: duplicate, reorder, delay or drop."""

    shape: str
    share: float
    seed: int

    def __str__(self) -> str:
        return f"{self.shape} of {self.share:.0%} of the events"

    def planned(self, faults: Faults, run_id: str) -> Handle:
        action, resource = shape(self.shape, A_WHILE), f"flow_runs/{run_id}"
        return faults.add(service="eventarc", resource=resource, action=action, probability=self.share, seed=self.seed)


class Crowd(NamedTuple):
    """So many writes a second, and no more, for the run's document."""

    per_second: float

    def __str__(self) -> str:
        return f"{self.per_second:g} writes a second"

    def planned(self, faults: Faults, run_id: str) -> Handle:
        return faults.limit_writes(self.per_second, burst=2, resource=f"*flow_runs/{run_id}")


def points_of(records: Iterable[Record], run_id: str) -> list[Point]:
    """Every call that a function made for the run."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for record in records:
        if record.kind != "call" or record.service == "eventarc":
            continue
        call = (record.service, record.method, record.resource.replace(run_id, _RUN))
        nth = seen[call] if _RUN in call[2] else 0
        seen[call] += 1
        point = Point(*call, nth)
        if point not in found and not (_creates(point) and nth == 0):
            found.append(point)
    return found


def _creates(point: Point) -> bool:
    return (point.method, point.resource) == ("Commit", f"flow_runs/{_RUN}")


def _ours(point: Point, action: Fault) -> int:
    """The first commit of a run is our own: a kill passes it over, every other fault has to count it."""
    return int(_creates(point) and action.end == "kill")
