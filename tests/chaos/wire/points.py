"""Where things can go wrong on the wire, found by tracing an undisturbed run, and what can go wrong there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from emulator.faults.actions import SHAPES as KNOWN
from tests.chaos.wire.book import Told
from tests.chaos.wire.host import HANGS

KINDS: Mapping[str, Any] = {
    "dies before": {"kill": True},
    "dies after": {"kill": True, "applied": True},
    "loses the reply of": "drop_after",
    "is told 503 by": {"status": 503},
    "waits in vain for": {"hang": HANGS},
    "is told 503, although done, by": {"status": 503, "applied": True},
    "waits in vain, although done, for": {"hang": HANGS, "applied": True},
}
# What happens to an event. One whose acknowledgement is lost comes again, and may lose it again.
SHAPES: Mapping[str, Any] = {
    "duplicate": {"shape": "duplicate"},
    "triplicate": {"shape": "triplicate"},
    "reorder": {"shape": "reorder", "seconds": 0.3},
    "delay": {"shape": "delay", "seconds": 0.3},
    "drop": {"shape": "drop"},
    "lost acknowledgement": "drop_after",
}
# What else a provider may say, and on which calls: the model's answers, and the bytes of an object.
ANSWERS: Mapping[str, Any] = {
    **{shape: {"shape": shape} for shape in sorted(KNOWN["gemini"])},
    "429": {"status": 429, "retryAfter": 2},
    "500": {"status": 500},
}
BYTES: Mapping[str, Any] = {shape: {"shape": shape} for shape in sorted(KNOWN["storage"])}
_RUN = "{run}"
_JOB = re.compile(r"job_[0-9a-f]+")  # another one every time


class Problem(Protocol):
    """Something that may be planned for a run; what `lasts` is planned anew when the platform comes back."""

    @property
    def kind(self) -> str: ...

    @property
    def lasts(self) -> bool: ...

    def wish(self, run_id: str, life: int) -> dict[str, Any]: ...


class Point(NamedTuple):
    """The nth call of a kind in the life of a run, counted from 0."""

    service: str
    method: str
    resource: str  # with a place for the run's id; without one the call may be any run's
    nth: int

    def __str__(self) -> str:
        return f"{self.service} {self.method} {self.resource} #{self.nth}"

    @property
    def of_a_run(self) -> bool:
        return _RUN in self.resource

    @property
    def of_sweep(self) -> bool:
        return self.method == "RunQuery"


class Trouble(NamedTuple):
    point: Point
    kind: str
    lasts: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.point}"

    @property
    def kills(self) -> bool:
        return "kill" in KINDS[self.kind]

    @property
    def takes_a_worker(self) -> bool:
        """Whether it may cost a step its worker: who gets an answer, any answer, records what came of it."""
        return self.kills or "hang" in KINDS[self.kind]

    def wish(self, run_id: str, life: int) -> dict[str, Any]:
        service, method, resource, nth = self.point
        where = {"service": service, "method": method, "resource": resource.replace(_RUN, run_id)}
        return {**where, "action": KINDS[self.kind], "skip": nth, "times": 1}


class Weather(NamedTuple):
    """What happens to a part of a run's events."""

    shape: str
    share: float
    seed: int
    lasts: bool = True

    @property
    def kind(self) -> str:
        return self.shape

    def __str__(self) -> str:
        return f"{self.shape} of {self.share:.0%} of the events"

    def wish(self, run_id: str, life: int) -> dict[str, Any]:
        where = {"service": "eventarc", "resource": f"flow_runs/{run_id}"}
        return {**where, "action": SHAPES[self.shape], "probability": self.share, "seed": self.seed + life}


class Loss(NamedTuple):
    """The first events of a run for one function never arrive; none of them does without a number."""

    function: str
    first: int | None = None
    lasts: bool = True

    @property
    def kind(self) -> str:
        return "lost events"

    def __str__(self) -> str:
        return f"{'all' if self.first is None else f'{self.first} of the'} events for {self.function} are lost"

    def wish(self, run_id: str, life: int) -> dict[str, Any]:
        where = {"service": "eventarc", "method": self.function, "resource": f"flow_runs/{run_id}"}
        return {**where, "action": SHAPES["drop"], "times": self.first}


class Answered(NamedTuple):
    """A provider's odd answer, to whoever asks next."""

    service: str
    method: str
    answer: str
    lasts: bool = False

    @property
    def kind(self) -> str:
        return f"{self.service} answers {self.answer}"

    def __str__(self) -> str:
        return self.kind

    def wish(self, run_id: str, life: int) -> dict[str, Any]:
        resource = f"*/{run_id}/*" if self.service == "storage" else "*"
        action = {**ANSWERS, **BYTES}[self.answer]
        return {"service": self.service, "method": self.method, "resource": resource, "action": action, "times": 1}


class Crowd(NamedTuple):
    """So many writes a second, and no more, for the run's document."""

    per_second: float
    lasts: bool = True

    @property
    def kind(self) -> str:
        return "a write over the limit"

    def __str__(self) -> str:
        return f"{self.per_second:g} writes a second"

    def wish(self, run_id: str, life: int) -> dict[str, Any]:
        return {"resource": f"flow_runs/{run_id}", "action": {"limitWrites": self.per_second, "burst": 2}}


def points_of(records: Iterable[Told], run_id: str) -> list[Point]:
    """Every call that a function made for the run, and every query of a sweep."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for record in records:
        if record.kind != "call" or record.service == "eventarc":
            continue
        call = (record.service, record.method, _JOB.sub("job_*", record.resource.replace(run_id, _RUN)))
        counted = _RUN in call[2] or record.method == "RunQuery"
        point = Point(*call, seen[call] if counted else 0)
        seen[call] += 1
        if point not in found:
            found.append(point)
    return found
