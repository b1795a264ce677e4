"""A run as it changes, by Firestore's own listener: nobody asks again and again."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import COLLECTION, World
from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run

FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")
# Between two changes the display is drawn anew all the same: durations grow.
TICK = 0.2


def changes(world: World, run_id: str) -> Iterator[Run | None]:
    """The run, whenever it changes, until it is finished; None between two changes, so that somebody can draw."""
    with _listening(world, run_id) as told:
        while True:
            try:
                snapshot = told.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            if snapshot is None:
                raise Problem(f"{run_id}: there is no such run in {world}; flow runs lists them", Exit.MISSING)
            run = parse_run(snapshot)
            yield run
            if is_settled(run):
                return


def is_settled(run: Run) -> bool:
    """Finished, with no worker still at it."""
    return run.status in FINISHED and not any(step.status == "RUNNING" for step in run.steps.values())


@contextmanager
def _listening(world: World, run_id: str) -> Iterator[queue.Queue[Snapshot | None]]:
    told: queue.Queue[Snapshot | None] = queue.Queue()

    def hear(documents: list[Any], *_: object) -> None:
        for found in documents:
            told.put(Snapshot(run_id, found.to_dict(), found.update_time) if found.exists else None)
        if not documents:
            told.put(None)

    listener: Any = world.firestore.document(f"{COLLECTION}/{run_id}").on_snapshot(hear)
    try:
        yield told
    finally:
        listener.unsubscribe()


def took(started: datetime | None, finished: datetime | None, now: datetime) -> timedelta | None:
    return (finished or now) - started if started else None
