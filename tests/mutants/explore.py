"""The explorer as a killer: says which law a broken kernel breaks, and in which scenario. Run in the copy.

Exit code 0: every law holds. 1: one is broken. 3: none, but a scenario did not come to its end in its time.
"""

from __future__ import annotations

import json
import sys

from tests.explorer.scenarios import SCENARIOS, Budget, Scenario
from tests.explorer.search import Search

BROKEN, NOT_CLOSED = 1, 3


def explored(together: int, seconds: float) -> tuple[int, dict[str, str]]:
    """The first broken law under so many faults together; each scenario has so many seconds."""
    endless = {}
    for scenario in SCENARIOS:
        if together > 1 and _side_by_side(scenario):
            continue  # takes minutes; `make explore` has them
        try:
            search = Search(scenario, Budget(1, together)).run(seconds)
        except Exception as exc:  # noqa: BLE001 - a kernel that breaks the explorer itself is broken
            return BROKEN, {"scenario": scenario.name, "law": f"the explorer stumbled: {type(exc).__name__}"}
        if search.violations:
            return BROKEN, {"scenario": scenario.name, "law": search.violations[0].law}
        if not search.closed:
            endless = {"scenario": scenario.name, "law": f"not closed within {seconds:.0f} s"}
    return (NOT_CLOSED, endless) if endless else (0, {})


def _side_by_side(scenario: Scenario) -> bool:
    """Whether two steps wait for the same, so that two workers may be busy at once."""
    waits = [step["dependsOn"] for step in scenario.steps.values()]
    return any(wait in waits[:number] for number, wait in enumerate(waits))


if __name__ == "__main__":
    code, verdict = explored(int(sys.argv[1]), float(sys.argv[2]))
    print(json.dumps(verdict))
    sys.exit(code)
