"""What services are asked, and how often.

A call may concern several resources, as a batch does: it fits whoever names one of them, and is still one call.
"""

import re
import threading
from collections import Counter
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

_GLOB: Final = re.compile(r"[*?\[]")


def like(name: str, pattern: str) -> bool:
    """As a glob. Most patterns name one thing and no other: hundreds of those are looked through for every call."""
    return pattern in ("*", name) or (_GLOB.search(pattern) is not None and fnmatchcase(name, pattern))


class Call(NamedTuple):
    """What a service is asked to do, and with what. In a pattern each part is a glob; `*` also crosses slashes."""

    service: str
    method: str
    resource: str


class Asked(NamedTuple):
    """A call by all that it concerns: a batch has several names, and is told with commas between them."""

    service: str
    method: str
    names: tuple[str, ...]

    @property
    def call(self) -> Call:
        return Call(self.service, self.method, ",".join(self.names))

    def fits(self, pattern: Call) -> bool:
        return (
            like(self.service, pattern.service)
            and like(self.method, pattern.method)
            and any(like(name, pattern.resource) for name in (*self.names, ",".join(self.names)))
        )


class Calls:
    """How often each call was made."""

    def __init__(self) -> None:
        self._counts: Counter[Asked] = Counter()
        self._lock = threading.Lock()

    def add(self, asked: Asked) -> None:
        with self._lock:
            self._counts[asked] += 1

    def count(self, service: str = "*", method: str = "*", resource: str = "*") -> int:
        """The calls that fit. One that concerns several resources counts once, however many of them do."""
        pattern = Call(service, method, resource)
        with self._lock:
            return sum(times for asked, times in self._counts.items() if asked.fits(pattern))

    def items(self) -> list[tuple[Call, int]]:
        """How often, by what is told of a call."""
        told: Counter[Call] = Counter()
        with self._lock:
            for asked, times in self._counts.items():
                told[asked.call] += times
        return sorted(told.items())

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()
