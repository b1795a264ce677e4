"""The book of what is planned and what has happened: which call meets which fault, and how often.

Rules are asked in the order in which they were added, and the first that fits decides, alone: two faults in one call
would leave open which of them a test has proved something about.
"""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from emulator.faults.actions import AFTER, BEFORE, SHAPES, Fault, Moment, status
from emulator.faults.callers import Caller, Register, connection
from emulator.faults.calls import Asked, Call, Calls, like
from emulator.faults.limits import WriteLimit
from emulator.history import History

TOO_FAST: Final = status(429, "Too many writes to one document; wait and try again.", retry_after=1.0)
NO_FAULT: Final = Fault()


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

    def kills(self, asked: Asked) -> bool:
        return self.action.end == "kill" and not self.spent and asked.fits(self.pattern)

    def fires(self, asked: Asked, caller: Callable[[], Caller | None]) -> bool:
        """Asked under the book's lock, once for each call that nothing older has taken."""
        if self.spent or self.limit is not None or not asked.fits(self.pattern):
            return False
        if self.action.end == "kill" and caller() is None:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.probability < 1.0 and self.chance.random() >= self.probability:
            return False
        self.fired += 1
        return True


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
        self._register: Register | None = None

    def may_kill(self, register: Register | None) -> None:
        """Whoever runs functions says how to find the one that calls."""
        self._register = register

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
        if action.end == "kill" and self._register is None:
            raise ValueError(
                "kill: nobody here knows who calls: only a platform with functions does, on a system with /proc"
            )
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

    def decide(self, service: str, method: str, *resources: str) -> Fault | None:
        """Count the call, and say what goes wrong with it."""
        asked = Asked(service, method, resources)
        self.calls.add(asked)
        caller = cache(self._caller)
        if any(handle.kills(asked) for handle in self.planned):
            caller()  # milliseconds, for which nobody should hold the lock
        with self._lock:
            handle = next((handle for handle in self._handles if handle.fires(asked, caller)), None)
        if handle is None:
            self.history.record("call", *asked.call)
            return None
        victim = caller() if handle.action.end == "kill" else None
        self.history.record("call", *asked.call, fault=handle.id, **({"killed": victim.name} if victim else {}))
        return replace(handle.action, caller=victim)

    def throttle(self, documents: Iterable[str]) -> Fault | None:
        """Say whether these documents, written together, are written too fast."""
        names = list(documents)
        with self._lock:
            for handle in self._handles:
                if handle.limit is None:
                    continue
                held = [name for name in names if like(name, handle.pattern.resource)]
                if not handle.limit.admits(held, self._clock()):
                    handle.fired += 1
                    self.history.record("throttle", *handle.pattern[:2], ",".join(held), fault=handle.id)
                    return handle.action
        return None

    @contextmanager
    def call(self, service: str, method: str, *resources: str) -> Iterator[Fault]:
        """The body is the effect. Raises StatusReturned or Disconnected where the fault ends the call."""
        fault = self.decide(service, method, *resources) or NO_FAULT
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

    def _caller(self) -> Caller | None:
        found = connection() if self._register else None
        return self._register(found) if self._register and found else None

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
