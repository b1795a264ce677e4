"""One case of bad input again, by the name in its violation: `python -m tests.chaos.inputs documents 1/17/42`."""

from __future__ import annotations

import argparse
from typing import Any, Final

from tests.chaos.inputs import twins
from tests.chaos.inputs.drawing import block

KINDS: Final[dict[str, twins.Kind[Any]]] = {kind.name.rpartition(" ")[2]: kind for kind in twins.KINDS}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.inputs", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("case", help="seed, block and number, as in 1/17/42")
    options = parser.parse_args()
    seed, _, number = options.case.rpartition("/")
    case = block(KINDS[options.kind].make, seed)[int(number)]
    print(case.value)
    for broken in KINDS[options.kind].judge(case.value):
        print(broken)


if __name__ == "__main__":
    main()
