"""`make explore`: every scenario to closure, with as large a fault budget as closes in its share of the time."""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.explorer.scenarios import SCENARIOS, Scenario
from tests.explorer.search import Search
from tests.explorer.story import told

PROCESSES = 2
# A larger budget costs many times as much; one that has no chance to close is not begun.
GROWTH = 6


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


def explore(scenario: Scenario, seconds: float) -> list[Row]:
    """One row for each budget, the least first, as far as they close in the time."""
    rows: list[Row] = []
    ends = time.monotonic() + seconds
    for budget in scenario.levels:
        left = ends - time.monotonic()
        if rows and (not rows[-1].closed or rows[-1].seconds * GROWTH > left):
            break
        search = Search(scenario, budget).run(left)
        rows.append(
            Row(
                scenario.name,
                str(budget),
                len(search.parents),
                search.transitions,
                search.closed,
                len(search.violations),
                round(search.seconds, 1),
                search.faults,
                tuple(told(search, violation) for violation in search.violations[:1]),
            )
        )
        if search.violations:
            break
    return rows


def main() -> int:
    arguments = argparse.ArgumentParser(prog="make explore", description=__doc__)
    arguments.add_argument("--minutes", type=float, default=25, help="for all scenarios together, on two cores")
    arguments.add_argument("--scenario", action="append", help="only this one (may be given several times)")
    arguments.add_argument("--out", type=Path, default=Path("build/explore.json"))
    options = arguments.parse_args()
    names = {scenario.name for scenario in SCENARIOS}
    unknown = set(options.scenario or ()) - names
    if unknown:
        arguments.error(f"no scenario {', '.join(sorted(unknown))}; there are: {', '.join(sorted(names))}")
    chosen = [scenario for scenario in SCENARIOS if not options.scenario or scenario.name in options.scenario]
    share = options.minutes * 60 * PROCESSES / len(chosen)
    print(f"{len(chosen)} scenarios, up to {share:.0f} s each on {PROCESSES} processes", flush=True)
    results: dict[str, Row] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        waiting = {pool.submit(explore, scenario, share): scenario for scenario in chosen}
        for number, future in enumerate(as_completed(waiting), 1):
            rows = future.result()
            # The largest budget that closed counts; what was tried beyond it is said, and counts for nothing.
            best = next((row for row in reversed(rows) if row.closed or row.violations), rows[0])
            results[best.name] = best
            beyond = f" (not closed in the time left: {rows[-1].budget})" if rows[-1] is not best else ""
            print(f"[{number}/{len(chosen)}] {best.name}: {_verdict(best)}, {best.budget}{beyond}", flush=True)
    ordered = [results[scenario.name] for scenario in chosen]
    _print_table(ordered)
    violations = sum(row.violations for row in ordered)
    report = {"scenarios": [asdict(row) for row in ordered], "violations": violations}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if violations == 0 and all(row.closed for row in ordered) else 1


def _verdict(row: Row) -> str:
    return "VIOLATED" if row.violations else "closed" if row.closed else "NOT CLOSED"


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
