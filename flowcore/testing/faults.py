"""Failures on order, and counted: a test that meant to see one can prove that it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Fault:
    """`after_effect`: the call does its work, and then its reply is lost."""

    method: str
    error: Exception
    times: int = 1
    after_effect: bool = False
    fired: int = 0


@dataclass(slots=True)
class Wire:
    """The way between the engine and a twin: counts every call, and breaks where it is told to."""

    calls: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    # Runs before the named method takes effect, once: "meanwhile, somebody else …".
    meanwhile: dict[str, list[Callable[[], object]]] = field(default_factory=dict)

    def break_next(self, method: str, error: Exception, *, times: int = 1, after_effect: bool = False) -> Fault:
        fault = Fault(method, error, times, after_effect)
        self.faults.append(fault)
        return fault

    def before_next(self, method: str, action: Callable[[], object]) -> None:
        self.meanwhile.setdefault(method, []).append(action)

    def carry(self, method: str, call: Callable[[], T]) -> T:
        self.calls[method] += 1
        waiting = self.meanwhile.get(method)
        if waiting:
            waiting.pop(0)()
        fault = next((f for f in self.faults if f.method == method and f.fired < f.times), None)
        if fault is None:
            return call()
        fault.fired += 1
        if fault.after_effect:
            call()
        raise fault.error
