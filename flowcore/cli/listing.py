"""Runs, newest first.

By `createdAt` alone, because every database has that index by itself; a status is looked for among what comes. So
nobody has to deploy an index before the first question, and the price is bounded: without --since, only so many of the
newest runs are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.domain.model import RunStatus, Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.times import to_text
from flowcore.ports import DOCUMENT_CALL

PAGE = 100
LOOKED_AT = 2_000
_AGO = re.compile(r"(\d{1,6})(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Listed:
    run_id: str
    status: str
    flow_key: str
    created_at: datetime | None
    finished_at: datetime | None
    steps: Mapping[str, int]  # status → how many

    @property
    def progress(self) -> str:
        return f"{self.steps.get('SUCCEEDED', 0)}/{sum(self.steps.values())}"


def newest(there: World, statuses: Collection[str], since: datetime | None, limit: int) -> list[Listed]:
    found = _walked(there, since) if since else islice(_walked(there, since), LOOKED_AT)
    return list(islice((each for each in found if not statuses or each.status in statuses), limit))


def since_when(text: str, now: datetime) -> datetime:
    """`2h` is two hours ago; `2026-01-31` and `2026-01-31T12:00` are in UTC unless they say otherwise."""
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Problem(
            f"--since {text}: write how long ago (30m, 2h, 7d) or a date (2026-01-31)", Exit.MISUSED
        ) from None


def known_status(text: str) -> str:
    if text.upper() not in RunStatus.__members__:
        raise Problem(f"--status {text}: a run is one of {', '.join(RunStatus)}", Exit.MISUSED)
    return text.upper()


def _walked(there: World, since: datetime | None) -> Iterator[Listed]:
    from google.cloud.firestore import Query
    from google.cloud.firestore_v1.base_query import FieldFilter

    runs: Any = there.firestore.collection(there.collection)
    query = runs.order_by("createdAt", direction=Query.DESCENDING).limit(PAGE)
    if since:
        query = query.where(filter=FieldFilter("createdAt", ">=", to_text(since)))
    page = _asked(query)
    while page:
        yield from map(_listed, page)
        page = _asked(query.start_after(page[-1])) if len(page) == PAGE else []


def _asked(query: Any) -> list[Any]:
    """Once: whoever waits at a terminal would rather hear that nobody answers."""
    return list(query.stream(retry=None, timeout=DOCUMENT_CALL))


def _listed(found: Any) -> Listed:
    document = found.to_dict() or {}
    run = parse_run(Snapshot(found.id, document, found.update_time))
    return Listed(
        run.run_id,
        str(run.status),
        str(document.get("flowKey") or ""),
        run.created_at,
        run.finished_at,
        Counter(str(step.status) for step in run.steps.values()),
    )
