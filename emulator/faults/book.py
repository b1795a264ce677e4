"""The book of what is planned and what has happened: which call meets which fault, and how often.

Rules are asked in the order in which they were added, and the first that fits decides, alone: two faults in one call
would leave open which of them a test has proved something about.
"""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from emulator.faults.actions import AFTER, BEFORE, SHAPES, Fault, Moment, status
from emulator.faults.limits import WriteLimit
from emulator.history import History

TOO_FAST: Final = status(429, "Too many writes to one document; wait and try again.", retry_after=1.0)
NO_FAULT: Final = Fault()


class Call(NamedTuple):
    """What a service is asked to do, and with what. In a pattern each part is a glob; `*` also crosses slashes."""

    service: str
    method: str
    resource: str

    def fits(self, pattern: "Call") -> bool:
        return all(fnmatchcase(part, glob) for part, glob in zip(self, pattern, strict=True))


@dataclass(eq=False, slots=True)
class Handle:
    """One planned fault, and how often it has fired."""

    id: str
    pattern: Call
    action: Fault
    times: int | None = None
    skip: int = 0
    probability: float = 1.0
    chance: random.Random = field(default_factory=random.Random)
    limit: WriteLimit | None = None
    fired: int = 0

    @property
    def spent(self) -> bool:
        return self.times is not None and self.fired >= self.times

    def fires(self, call: Call) -> bool:
        """Asked under the book's lock, once for each call that nothing older has taken."""
        if self.spent or self.limit is not None or not call.fits(self.pattern):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.probability < 1.0 and self.chance.random() >= self.probability:
            return False
        self.fired += 1
        return True


class Calls:
    """How often each call was made."""

    def __init__(self) -> None:
        self._counts: Counter[Call] = Counter()
        self._lock = threading.Lock()

    def add(self, call: Call) -> None:
        with self._lock:
            self._counts[call] += 1

    def count(self, service: str = "*", method: str = "*", resource: str = "*") -> int:
        pattern = Call(service, method, resource)
        return sum(times for call, times in self.items() if call.fits(pattern))

    def items(self) -> list[tuple[Call, int]]:
        with self._lock:
            return sorted(self._counts.items())

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()


class Faults:
    """What every service asks, once per call."""

    def __init__(self, history: History | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.history = history if history is not None else History()
        self.calls = Calls()
        self._clock = clock
        self._handles: list[Handle] = []
        self._identities = itertools.count(1)
        self._lock = threading.Lock()
        self._released = threading.Event()

    # --- planning ----------------------------------------------------------------------------------------

    def add(
        self,
        *,
        action: Fault,
        service: str = "*",
        method: str = "*",
        resource: str = "*",
        times: int | None = None,
        skip: int = 0,
        probability: float = 1.0,
        seed: int = 0,
    ) -> Handle:
        """Plan a fault for the calls that fit: `times` of them (all when None), after letting `skip` of them pass."""
        _check_shape(service, action)
        if min(times or 0, skip) < 0 or not 0 <= probability <= 1:
            raise ValueError(
                f"times: {times}, skip: {skip}, probability: {probability}: none is negative, the last one at most 1"
            )
        chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        return self._plan(
            Handle(self._identity(), Call(service, method, resource), action, times, skip, probability, chance)
        )

    def limit_writes(self, per_second: float, *, burst: float = 1.0, resource: str = "*") -> Handle:
        """Let each document take that many writes a second, and that many at once; the rest are told to wait."""
        limit = WriteLimit(per_second, burst)
        return self._plan(Handle(self._identity(), Call("firestore", "write", resource), TOO_FAST, limit=limit))

    def remove(self, identity: str) -> bool:
        with self._lock:
            found = [handle for handle in self._handles if handle.id == identity]
            self._handles = [handle for handle in self._handles if handle.id != identity]
            return bool(found)

    def clear(self) -> None:
        """Plan nothing any more, and let go of every call that is held."""
        with self._lock:
            self._handles = []
            self._released.set()
            self._released = threading.Event()

    @property
    def planned(self) -> list[Handle]:
        with self._lock:
            return list(self._handles)

    # --- being asked -------------------------------------------------------------------------------------

    def decide(self, service: str, method: str, resource: str) -> Fault | None:
        """Count the call, and say what goes wrong with it."""
        call = Call(service, method, resource)
        self.calls.add(call)
        with self._lock:
            handle = next((handle for handle in self._handles if handle.fires(call)), None)
        detail = {"fault": handle.id} if handle else {}
        self.history.record("call", *call, **detail)
        return handle.action if handle else None

    def throttle(self, documents: Iterable[str]) -> Fault | None:
        """Say whether these documents, written together, are written too fast."""
        names = list(documents)
        with self._lock:
            for handle in self._handles:
                held = [name for name in names if fnmatchcase(name, handle.pattern.resource)]
                if handle.limit and not handle.limit.admits(held, self._clock()):
                    handle.fired += 1
                    return handle.action
        return None

    @contextmanager
    def call(self, service: str, method: str, resource: str) -> Iterator[Fault]:
        """The body is the effect. Raises StatusReturned or Disconnected where the fault ends the call."""
        fault = self.decide(service, method, resource) or NO_FAULT
        self.meet(fault, BEFORE)
        try:
            yield fault
        finally:
            self.meet(fault, AFTER)  # whatever the reply would have been: it is lost

    def meet(self, fault: Fault, moment: Moment) -> None:
        """Wait and fail as the fault says for this moment. Its shape is the service's to make."""
        if fault.when == moment:
            if fault.wait > 0:
                self._released.wait(fault.wait)
            fault.strike()

    def _identity(self) -> str:
        return f"f{next(self._identities)}"

    def _plan(self, handle: Handle) -> Handle:
        with self._lock:
            self._handles.append(handle)
        return handle


def _check_shape(service: str, action: Fault) -> None:
    known = SHAPES.get(service, frozenset())
    if action.shape is not None and action.shape not in known:
        names = ", ".join(sorted(known)) or "none at all"
        raise ValueError(f"service {service!r} has no shape {action.shape!r}; it knows {names}")
