"""`deploy/teardown.sh`, in Python: say what would go, ask, and take it away. Data stays, unless told otherwise."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence

from deploy.__main__ import target_arguments, target_of
from deploy.carrying_out import Crew, Failed, Run, start
from deploy.commands import shell
from deploy.plan import plan
from deploy.target import InvalidTarget
from deploy.undoing import Removal, removals, told
from functions.catalogue import deployables

_GONE = re.compile(r"not.?found|does not exist", re.IGNORECASE)


def main(arguments: Sequence[str] | None = None, run: Run = start, ask: Callable[[str], str] = input) -> int:
    parser = target_arguments(argparse.ArgumentParser(prog="deploy/teardown.sh", description=__doc__))
    parser.add_argument("--delete-data", action="store_true", help="also runs, objects, secrets and dead letters")
    parser.add_argument("--dry-run", action="store_true", help="print the commands, and do nothing")
    asked = parser.parse_args(arguments)
    try:
        where = target_of(asked)
        functions = deployables()
        whole = plan(where, functions, dict.fromkeys([each.name for each in functions], ""))
        going = removals(where, whole.steps, data=asked.delete_data)
        if asked.dry_run:
            print("\n".join(shell(each.command) for each in going))
            return 0
        print(f"{where.environment} of {where.project} loses:")
        print("\n".join(told(going)))
        print("Data stays." if not asked.delete_data else "DATA GOES, TOO.")
        if ask(f"To go on, type the environment's name ({where.environment}): ").strip() != where.environment:
            print("nothing was done")
            return 1
        crew = Crew(run, print, time.sleep, os.environ)
        for each in going:
            _remove(each, crew)
    except (Failed, InvalidTarget) as problem:
        print(f"teardown: {problem}", file=sys.stderr)
        return 1
    return 0


def _remove(removal: Removal, crew: Crew) -> None:
    """What is gone already is no problem: a teardown that broke off is simply begun again."""
    argv = crew.spelled(removal.command)
    found = "" not in argv  # a question for something's name was answered with nothing
    answer = crew.run(argv, None) if found else None
    if answer and answer.code and not _GONE.search(answer.said):
        raise Failed(f"{shell(removal.command)}\n{answer.said.strip()}")
    print(f"  {'gone' if answer and not answer.code else 'was gone':<9} {removal.words}")


if __name__ == "__main__":
    sys.exit(main())
