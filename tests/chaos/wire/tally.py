"""What has become of a battery on the wire so far, and at its end a line of what the table has no place for."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.battery import Outcome, Progress, listed


@dataclass(slots=True)
class Tally:
    progress: Progress
    cases: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # that were planned and happened, by kind
    again: int = 0  # cases that were played more than once
    waived: int = 0  # that ended otherwise, for a step whose workers their own troubles took
    struck: Counter[int] = field(default_factory=Counter)  # cases, by how many of their troubles happened
    points: list[str] = field(default_factory=list)  # a digest of each list from which cases were drawn
    violations: list[str] = field(default_factory=list)

    def expect(self, cases: int, points: str) -> None:
        self.progress.cases += cases
        if points not in self.points:
            self.points.append(points)

    def add(self, faults: Counter[str], struck: int, waived: bool) -> None:
        self.cases += 1
        self.faults += faults
        self.struck[struck] += 1
        self.waived += waived
        self.progress.tell(self.cases, len(self.violations))

    def doubt(self, case: str) -> None:
        """What may be another's fault is said at once: nobody would hear of it when it is not seen again."""
        print(f"{self.progress.name}: to be played again: {case:.400}", file=sys.stderr, flush=True)

    def complain(self, broken: Iterable[str]) -> None:
        self.violations += broken

    def outcome(self) -> Outcome:
        figures = (str(self), listed(self.faults))
        return Outcome(self.progress.name, self.cases, self.faults.total(), tuple(self.violations), figures)

    def __str__(self) -> str:
        struck = ", ".join(f"{self.struck[number]} with {number}" for number in sorted(self.struck))
        return (
            f"points {' and '.join(self.points)}; cases by troubles that struck: {struck}; "
            f"{self.again} played again; {self.waived} ended otherwise by their own troubles"
        )
