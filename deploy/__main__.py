"""`deploy/deploy.sh`, in Python: stage the functions, make the plan, print it or carry it out."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from deploy.carrying_out import Crew, Failed, lay_out, start
from deploy.commands import Refused
from deploy.plan import STAGE, Plan, Wishes, plan
from deploy.script import script
from deploy.stage import ROOT, Unlocked, stage
from deploy.target import InvalidTarget, Target, target
from functions.catalogue import deployables


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        where = target_of(asked)
        wishes = Wishes(rollback=asked.rollback, replace_trigger=asked.replace_trigger, keep_rules=asked.keep_rules)
        return _deploy(where, wishes, dry=asked.dry_run)
    except (Failed, InvalidTarget, Refused, Unlocked) as problem:
        print(f"deploy: {problem}", file=sys.stderr)
        return 1


def _deploy(where: Target, wishes: Wishes, *, dry: bool) -> int:
    staged = _plan(where, wishes)
    if dry:
        lay_out(staged, ROOT)
        print("\n".join(script(staged)))
        return 0
    print(f"{where.environment} of {where.project}, in {where.region}")
    outcome = Crew(start, print, time.sleep, os.environ).carry_out(staged, ROOT)
    print(f"{len(outcome.done)} done, {len(outcome.left)} were there already")
    return 0


def _plan(where: Target, wishes: Wishes) -> Plan:
    functions = deployables()
    digests = {each.name: stage(each.name, ROOT / STAGE / each.name) for each in functions}
    return plan(where, functions, digests, wishes)


def target_of(asked: argparse.Namespace) -> Target:
    return target(asked.env, asked.project, asked.region, asked.trigger_location)


def target_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--env", required=True, choices=["dev", "staging", "prod"], help="what all names begin with")
    parser.add_argument("--project", required=True, help="the id of a Google Cloud project")
    parser.add_argument("--region", required=True, help="where the functions, the bucket and the schedules live")
    parser.add_argument("--trigger-location", help="the database's location, where it is not the region (nam5, eur3)")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = target_arguments(argparse.ArgumentParser(prog="deploy/deploy.sh", description=__doc__))
    parser.add_argument("--dry-run", action="store_true", help="print the plan as commands, and do nothing")
    parser.add_argument("--replace-trigger", action="store_true", help="replace functions whose trigger changes")
    parser.add_argument("--keep-rules", action="store_true", help="leave the database's security rules alone")
    parser.add_argument("--rollback", action="store_true", help="these sources are older than those deployed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
