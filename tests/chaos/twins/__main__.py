"""One case once more, told as it happened: `python -m tests.chaos.twins storms SEED CASE`, as its violation says."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from flowcore.testing.world import T0
from tests.chaos.transitions import changed_steps
from tests.chaos.twins.batteries import CASES
from tests.chaos.twins.stepping import Stage
from tests.chaos.twins.world import Record


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.twins", description=__doc__)
    parser.add_argument("battery", choices=CASES)
    parser.add_argument("seed", type=int)
    parser.add_argument("case", type=int)
    options = parser.parse_args()
    with Stage() as stage:
        case = CASES[options.battery](f"{options.seed}/{options.case}", stage).run()
    for record in case.book:
        print(f"{record.time - T0.timestamp():10.2f}  {', '.join(_told(record))}")
    print("\n".join(case.violations) or "nothing was broken")


def _told(record: Record) -> Iterator[str]:
    by = record.detail.get("token") or ("a hand" if record.detail.get("by_hand") else "the orchestrator")
    before, after = record.detail.get("before"), record.detail.get("after")
    if record.kind == "fault":
        yield f"{record.service} {record.method} {record.resource}"
    elif record.kind != "write" or after is None:
        yield f"{record.service} {record.method} {record.resource} by {by}"
    elif before is None:
        yield "the run is created: " + ", ".join(
            f"{name} {step['stepType']} after {step['dependsOn']}" for name, step in after["steps"].items()
        )
    else:
        yield f"written by {by}"
        if before["status"] != after["status"]:
            yield f"run {before['status']} → {after['status']}"
        for name, old, new in changed_steps(before, after):
            yield f"{name} {old['status']} → {new['status']}"


if __name__ == "__main__":
    main()
