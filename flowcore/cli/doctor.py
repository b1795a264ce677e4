"""`flow doctor`: what is missing before a run can work."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import Bucket, Database, Env, Json, Project

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    *,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """Check this machine, the stores, the seeds and the functions, and say what to fix. Fails if anything is to be."""
    from rich.console import Console
    from rich.text import Text

    from flowcore.cli.checkup import examine
    from flowcore.cli.display import screen

    checks = []
    console = screen()
    with Console(stderr=True).status("looking"):
        for check in examine(project, env, database, bucket):
            checks.append(check)
            if not as_json:
                style = STYLES[check.verdict]
                advice = f" → {check.fix}" if check.fix else ""
                said = (f"{check.verdict:<4}", style), f" {check.name:<10} {check.says}", (advice, style)
                console.print(Text.assemble(*said), soft_wrap=True)
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks]))
    failed = [check for check in checks if check.verdict == "fail"]
    if failed:
        first = failed[0]
        raise Problem(f"{first.name}: {first.says}; {first.fix}", Exit.FAILED)
