"""`flow runs`: which runs there are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from flowcore.cli.world import Bucket, Database, Env, Json, Project, World, entered


def runs(
    *,
    status: Annotated[list[str] | None, typer.Option(help="Only these: RUNNING, FAILED, … Repeatable.")] = None,
    since: Annotated[str | None, typer.Option(help="Not older than this: 30m, 2h, 7d, 2026-01-31.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    project: Project = None,
    env: Env = None,
    database: Database = None,
    bucket: Bucket = None,
    as_json: Json = False,
) -> None:
    """List runs, the newest first."""
    from flowcore.cli.listing import known_status, newest, since_when

    statuses, now = [known_status(text) for text in status or []], datetime.now(UTC)
    moment = since_when(since, now) if since else None
    there = entered(project, env, database, bucket, as_json=as_json)
    found = newest(there, statuses, moment, limit)
    if as_json:
        from flowcore.domain.times import to_text

        told = [
            {
                "runId": each.run_id,
                "status": each.status,
                "flowKey": each.flow_key,
                "createdAt": to_text(each.created_at) if each.created_at else None,
                "finishedAt": to_text(each.finished_at) if each.finished_at else None,
                "steps": dict(each.steps),
            }
            for each in found
        ]
        typer.echo(json.dumps(told))
        return
    from flowcore.cli.display import listing, screen

    if found:
        screen().print(listing(found, now))
    else:
        typer.echo(_none(there, searched=bool(statuses), bounded=moment is not None))


def _none(there: World, *, searched: bool, bounded: bool) -> str:
    from flowcore.cli.listing import LOOKED_AT

    if bounded:
        return "no such run"
    if searched:
        return f"no such run among the newest {LOOKED_AT:,}; --since 30d looks further"
    return f"no run yet; {there.command('run market_report_v1')} starts one"
