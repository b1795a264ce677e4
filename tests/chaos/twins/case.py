"""What every case on the twins is: from its seed to its verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.twins.simulation import Kernel
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.world import Record


@dataclass(slots=True)
class Case:
    """`fired`: faults that struck, by kind; `book`: what happened, record by record."""

    seed: str
    stage: Stage
    kernel: Kernel = field(default_factory=Kernel)
    fired: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    book: list[Record] = field(default_factory=list)
