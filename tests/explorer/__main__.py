"""`make explore`: every scenario to closure, with as large a fault budget as closes in the time."""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.explorer.scenarios import SCENARIOS, Scenario
from tests.explorer.search import Search
from tests.explorer.story import told

PROCESSES = 2
# A larger budget costs many times as much; one that has no chance to close is not begun.
GROWTH = 8


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    budget: str
    states: int
    transitions: int
    closed: bool
    violations: int
    seconds: float
    faults: dict[str, int]
    stories: tuple[str, ...]


def explore(scenario: Scenario, level: int, ends: float) -> Row:
    search = Search(scenario, scenario.levels[level]).run(ends - time.time())
    return Row(
        scenario.name,
        str(search.budget),
        len(search.parents),
        search.transitions,
        search.closed,
        len(search.violations),
        round(search.seconds, 1),
        search.faults,
        tuple(told(search, violation) for violation in search.violations[:1]),
    )


def explore_all(scenarios: list[Scenario], seconds: float) -> list[Row]:
    """The least budget of every scenario first; then larger ones, as long as they may close in the time left."""
    best: dict[str, Row] = {}
    ends = time.time() + seconds
    with ProcessPoolExecutor(PROCESSES) as pool:
        waiting: dict[Future[Row], tuple[Scenario, int]] = {}

        def begin(scenario: Scenario, level: int) -> None:
            waiting[pool.submit(explore, scenario, level, ends)] = (scenario, level)

        for scenario in scenarios:
            begin(scenario, 0)
        while waiting:
            for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                scenario, level = waiting.pop(done)
                row = done.result()
                print(f"  {row.name}: {_verdict(row)} with {row.budget}, {row.seconds:.0f} s", flush=True)
                # What was tried beyond the largest budget that closed counts for nothing, unless it broke a law.
                if level == 0 or row.closed or row.violations:
                    best[row.name] = row
                left = ends - time.time()
                if row.closed and level + 1 < len(scenario.levels) and row.seconds * GROWTH < left:
                    begin(scenario, level + 1)
    return [best[scenario.name] for scenario in scenarios]


def main() -> int:
    arguments = argparse.ArgumentParser(prog="make explore", description=__doc__)
    arguments.add_argument("--minutes", type=float, default=25, help="for all scenarios together, on two cores")
    arguments.add_argument("--scenario", action="append", help="only this one (may be given several times)")
    arguments.add_argument("--out", type=Path, default=Path("build/explore.json"))
    options = arguments.parse_args()
    names = [scenario.name for scenario in SCENARIOS]
    unknown = [name for name in options.scenario or () if name not in names]
    if unknown:
        arguments.error(f"no scenario {unknown[0]!r}; there are: {', '.join(names)}")
    chosen = [scenario for scenario in SCENARIOS if not options.scenario or scenario.name in options.scenario]
    print(f"{len(chosen)} scenarios on {PROCESSES} processes, {options.minutes:g} minutes at the most", flush=True)
    rows = explore_all(chosen, options.minutes * 60)
    _print_table(rows)
    violations = sum(row.violations for row in rows)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"scenarios": [asdict(row) for row in rows], "violations": violations}
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if violations == 0 and all(row.closed for row in rows) else 1


def _verdict(row: Row) -> str:
    if row.violations:
        return "VIOLATED"
    return "closed" if row.closed else "not closed in the time left"


def _print_table(rows: list[Row]) -> None:
    print(f"\n{'scenario':<36} {'fault budget':<28} {'states':>9}  {'closed':<6}  violations")
    for row in rows:
        closed = "yes" if row.closed else "NO"
        print(f"{row.name:<36} {row.budget:<28} {row.states:>9,}  {closed:<6}  {row.violations}")
    faults = {name: sum(row.faults[name] for row in rows) for name in rows[0].faults}
    print("\nfaults followed: " + ", ".join(f"{count:,} × {name}" for name, count in faults.items()))
    for row in rows:
        for story in row.stories:
            print("\n" + story)


if __name__ == "__main__":
    sys.exit(main())
