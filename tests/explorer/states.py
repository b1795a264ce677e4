"""The state of a small world, as tuples: millions of them fit and compare fast."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tests.explorer.scenarios import FAULTS, Budget

CRASH, DUPLICATE, DROP, REPLY, EXPIRY = range(len(FAULTS))
REFUSAL, FAILURE, CANCEL, REOPEN = range(len(FAULTS), len(FAULTS) + 4)
UNUSED = (0,) * (len(FAULTS) + 4)

# What happened, in words for the story: ("deliver", "advance", "update", "reply lost").
Label = tuple[str, ...]


class Delivery(NamedTuple):
    program: str
    document: int
    fresh: bool  # the document is still the one that the event brought


class Invocation(NamedTuple):
    node: int
    fresh: bool = False  # the latest snapshot it saw is still the truth
    holds: tuple[str, ...] = ()  # the steps whose lease carries its token
    event_fresh: bool = False


class State(NamedTuple):
    document: int
    now: datetime
    objects: tuple[str, ...]
    deliveries: tuple[Delivery, ...]
    invocations: tuple[Invocation, ...]
    used: tuple[int, ...] = UNUSED

    @property
    def quiet(self) -> bool:
        return not self.deliveries and not self.invocations

    @property
    def faults(self) -> int:
        return sum(self.used[: len(FAULTS)])

    @property
    def but_for_the_bill(self) -> tuple[object, ...]:
        return (*self[:5], self.used[len(FAULTS) :])

    def may(self, kind: int, budget: Budget) -> bool:
        return self.used[kind] < budget.each and self.faults < budget.together

    def counting(self, kind: int) -> State:
        return self._replace(used=(*self.used[:kind], self.used[kind] + 1, *self.used[kind + 1 :]))

    def without(self, invocation: Invocation) -> State:
        index = self.invocations.index(invocation)
        return self._replace(invocations=self.invocations[:index] + self.invocations[index + 1 :])

    def with_invocation(self, invocation: Invocation) -> State:
        return self._replace(invocations=tuple(sorted((*self.invocations, invocation))))

    def with_delivery(self, delivery: Delivery) -> State:
        if delivery in self.deliveries:
            return self
        return self._replace(deliveries=tuple(sorted((*self.deliveries, delivery))))
