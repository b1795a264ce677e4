"""Each document is parsed once: half of a schedule's time would go into reading the same documents again.

Parsing is pure and a run is frozen, so nothing but time can tell the difference. A document is looked up by its update
time and then compared: what a writer believes to have written may differ from what the store has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run
from flowcore.engine import update, worker

READERS = (update, worker)
ENOUGH = 100  # documents of one schedule; the next one begins anew


@contextmanager
def each_document_once() -> Iterator[None]:
    known: dict[datetime, tuple[Snapshot, Run]] = {}

    def remembered(snapshot: Snapshot) -> Run:
        found = known.get(snapshot.update_time)
        if found is None or found[0].document != snapshot.document:
            if len(known) > ENOUGH:
                known.clear()
            found = known[snapshot.update_time] = (snapshot, parse_run(snapshot))
        return found[1]

    for module in READERS:
        module.parse_run = remembered  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in READERS:
            module.parse_run = parse_run  # type: ignore[attr-defined]
