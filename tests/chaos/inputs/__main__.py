"""One case of bad input again, by its name in a violation: `python -m tests.chaos.inputs 'bad input: events' 1/17/42`.

Of names that begin with "bad input:" the last word is enough: `documents 1/17/42`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from typing import Final

from tests.chaos.inputs import ports, twins, wire

AGAIN: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    **{kind.name: kind.again for kind in (*twins.KINDS, *wire.KINDS)},
    **{kind.name.rpartition(" ")[2]: kind.again for kind in twins.KINDS},
    ports.NAME: ports.again,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.inputs", description=__doc__)
    parser.add_argument("battery", choices=sorted(AGAIN))
    parser.add_argument("case", help="seed, block and number, as in 1/17/42")
    options = parser.parse_args()
    if not re.fullmatch(r"\d+/\d+/\d+", options.case):
        parser.error(f"{options.case!r} is no case: seed, block and number, as in 1/17/42")
    print(*AGAIN[options.battery](options.case), sep="\n")


if __name__ == "__main__":
    main()
