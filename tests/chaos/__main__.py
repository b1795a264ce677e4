"""`make chaos`: every battery, one after the other, and a table of what came of it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.chaos.batteries import BATTERIES
from tests.chaos.battery import Battery, Order, Outcome

REPORT = Path("build/chaos.json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed is the same cases (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=90.0, help="shared among the batteries (default: %(default)s)")
    parser.add_argument("batteries", nargs="*", metavar="battery", help="only those whose name contains one of these")
    options = parser.parse_args()
    wanted = options.batteries or [""]
    chosen = [each for each in BATTERIES if any(word in each.name for word in wanted)]
    if not chosen:
        sys.exit(f"no such battery; there are: {', '.join(each.name for each in BATTERIES)}")
    outcomes = run(chosen, options.seed, options.minutes * 60)
    violations = [violation for outcome in outcomes for violation in outcome.violations]
    REPORT.parent.mkdir(exist_ok=True)
    told = [{**asdict(outcome), "violations": len(outcome.violations)} for outcome in outcomes]
    REPORT.write_text(json.dumps({"batteries": told, "violations": len(violations), "seed": options.seed}, indent=2))
    for violation in violations:
        print(violation)
    sys.exit(1 if violations else 0)


def run(chosen: Sequence[Battery], seed: int, seconds: float) -> list[Outcome]:
    print(f"{'battery':<44}{'cases':>10}{'faults fired':>14}{'violations':>12}{'seconds':>10}", flush=True)
    ends = time.monotonic() + seconds
    outcomes = []
    for number, battery in enumerate(chosen):
        began = time.monotonic()
        rest = sum(each.share for each in chosen[number:])
        # What a quick battery leaves over is shared by those that follow.
        order = Order(seed, battery.cases, began + (ends - began) * battery.share / rest)
        outcome = battery.run(order)
        outcomes.append(outcome)
        print(
            f"{outcome.name:<44}{outcome.cases:>10,}{outcome.faults_fired:>14,}{len(outcome.violations):>12}"
            f"{time.monotonic() - began:>10.0f}",
            flush=True,
        )
    return outcomes


if __name__ == "__main__":
    main()
