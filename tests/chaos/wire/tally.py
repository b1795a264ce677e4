"""What has become of a battery on the wire so far, and at its end a line of what the table has no place for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.battery import Outcome, Progress


@dataclass(slots=True)
class Tally:
    progress: Progress
    cases: int = 0
    faults: int = 0  # that were planned and happened
    again: int = 0  # cases that were played more than once
    waived: int = 0  # that ended otherwise, for a step whose workers their own troubles took
    struck: Counter[int] = field(default_factory=Counter)  # cases, by how many of their troubles happened
    points: list[str] = field(default_factory=list)  # a digest of each list from which cases were drawn
    violations: list[str] = field(default_factory=list)

    def expect(self, cases: int, points: str) -> None:
        self.progress.cases += cases
        if points not in self.points:
            self.points.append(points)

    def add(self, faults: int, struck: int, waived: bool) -> None:
        self.cases += 1
        self.faults += faults
        self.struck[struck] += 1
        self.waived += waived
        self.progress.tell(self.cases, len(self.violations))

    def complain(self, broken: Iterable[str]) -> None:
        self.violations += broken

    def outcome(self) -> Outcome:
        return Outcome(self.progress.name, self.cases, self.faults, tuple(self.violations), (str(self),))

    def __str__(self) -> str:
        struck = ", ".join(f"{self.struck[number]} with {number}" for number in sorted(self.struck))
        return (
            f"points {' and '.join(self.points)}; cases by troubles that struck: {struck}; "
            f"{self.again} played again; {self.waived} ended otherwise by their own troubles"
        )
