"""`make chaos`: every battery, one after the other, and a table of what came of it."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.chaos.batteries import BATTERIES
from tests.chaos.battery import Battery, Order, Outcome

REPORT = Path("build/chaos.json")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; fewer cases than `planned` is a battery that the time has cut short."""

    outcome: Outcome
    planned: int
    seconds: int

    @property
    def cut_short(self) -> bool:
        return self.outcome.cases < self.planned

    def __str__(self) -> str:
        name, cases, fired, violations = self.outcome.name, *self.figures
        mark = f"  of {self.planned:,}" if self.cut_short else ""
        return f"{name:<44}{cases:>10,}{fired:>14,}{violations:>12}{self.seconds:>10}{mark}"

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.outcome.cases, self.outcome.faults_fired, len(self.outcome.violations)

    def told(self) -> dict[str, object]:
        plain = {**asdict(self.outcome), "violations": len(self.outcome.violations)}
        return {**plain, "planned": self.planned, "seconds": self.seconds}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed is the same cases (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=120.0, help="no case begins later (default: %(default)s)")
    parser.add_argument("batteries", nargs="*", metavar="battery", help="only those whose name contains one of these")
    options = parser.parse_args()
    wanted = options.batteries or [""]
    chosen = [each for each in BATTERIES if any(word in each.name for word in wanted)]
    if not chosen:
        sys.exit(f"no such battery; there are: {', '.join(each.name for each in BATTERIES)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what was started is ended
    rows: list[Row] = []
    print(f"{'battery':<44}{'cases':>10}{'faults fired':>14}{'violations':>12}{'seconds':>10}", flush=True)
    for row in run(chosen, options.seed, options.minutes * 60):
        rows.append(row)
        print(row, *row.outcome.figures, sep="\n  ", flush=True)
        for violation in row.outcome.violations:
            print(violation, file=sys.stderr, flush=True)
        write(rows, options.seed, complete=len(rows) == len(BATTERIES))  # each time: an hour's work is not lost
    cases, fired, violations = (sum(column) for column in zip(*(row.figures for row in rows), strict=True))
    print(f"{'all of them':<44}{cases:>10,}{fired:>14,}{violations:>12}{sum(row.seconds for row in rows):>10}")
    for row in rows:
        for violation in row.outcome.violations:
            print(violation)
    if short := [row.outcome.name for row in rows if row.cut_short]:
        reason = "what they found is told above" if violations else "for more time: --minutes"
        print(f"these have not done all of their cases: {', '.join(short)}; {reason}")
    sys.exit(1 if violations else 0)


def run(chosen: Sequence[Battery], seed: int, seconds: float) -> Iterator[Row]:
    ends = time.monotonic() + seconds
    for number, battery in enumerate(chosen):
        began = time.monotonic()
        rest = sum(each.share for each in chosen[number:])
        # What a quick battery leaves over is shared by those that follow.
        order = Order(seed, battery.cases, began + (ends - began) * battery.share / rest)
        outcome = _outcome(battery, order)
        yield Row(outcome, outcome.planned or battery.cases, round(time.monotonic() - began))


def _outcome(battery: Battery, order: Order) -> Outcome:
    if order.time_is_up:  # those before it took longer than they may
        return Outcome(battery.name, 0, 0)
    try:
        return battery.run(order)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others have their turn
        traceback.print_exc()
        return Outcome(battery.name, 0, 0, (f"{battery.name}: the battery itself broke: {error!r}",))


def write(rows: Sequence[Row], seed: int, *, complete: bool) -> None:
    """`complete`: whether these are all batteries, each with all of its cases."""
    violations = sum(len(row.outcome.violations) for row in rows)
    whole = complete and not any(row.cut_short for row in rows)
    told = {"batteries": [row.told() for row in rows], "violations": violations, "seed": seed, "complete": whole}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
