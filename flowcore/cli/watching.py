"""A run as it changes, by Firestore's own listener: nobody asks again and again."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from flowcore.cli.looking import run_of
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run

FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")
# Between two changes the display is drawn anew all the same: durations grow.
TICK = 0.2
# A listener tries for ever to reach a server that is gone. Somebody who looks on wants to know.
QUIET = 30.0

# None: the document is gone. An exception: the listener has ended.
Told = queue.Queue[Snapshot | BaseException | None]


def changes(world: World, run_id: str, *, quiet: float = QUIET) -> Generator[Run | None]:
    """The run, whenever it changes, until it is finished; None between two changes, so that somebody can draw."""
    run_of(world, run_id)  # a listener would not say that nobody answers
    with _listening(world, run_id) as told:
        heard = time.monotonic()
        while True:
            try:
                snapshot = told.get(timeout=TICK)
            except queue.Empty:
                if time.monotonic() - heard > quiet:
                    run_of(world, run_id)
                    heard = time.monotonic()
                yield None
                continue
            heard = time.monotonic()
            run = _seen(snapshot, world, run_id)
            yield run
            if is_settled(run):
                return


def is_settled(run: Run) -> bool:
    """Finished, with no worker still at it."""
    return run.status in FINISHED and not any(step.status == "RUNNING" for step in run.steps.values())


def _seen(told: Snapshot | BaseException | None, world: World, run_id: str) -> Run:
    match told:
        case Snapshot():
            return parse_run(told)
        case None:
            raise Problem(
                f"{run_id}: somebody has removed it from {world}; {world.command('runs')} lists the rest", Exit.MISSING
            )
    reason = type(told).__name__
    raise Problem(
        f"{run_id}: {world} tells no more ({reason}); the run goes on, "
        f"look again with: {world.command(f'watch {run_id}')}",
        Exit.UNREACHABLE,
    )


@contextmanager
def _listening(world: World, run_id: str) -> Iterator[Told]:
    told: Told = queue.Queue()

    def hear(documents: list[Any], *_: object) -> None:
        for found in documents:
            told.put(Snapshot(run_id, found.to_dict(), found.update_time) if found.exists else None)
        if not documents:
            told.put(None)

    with _threads_that_fail_told(told):
        listener: Any = world.firestore.document(f"{world.collection}/{run_id}").on_snapshot(hear)
        try:
            yield told
        finally:
            listener.unsubscribe()


@contextmanager
def _threads_that_fail_told(told: Told) -> Iterator[None]:
    """The library ends a listener by an exception in a thread of its own, and logs the trace: not for a terminal."""
    log, hook = logging.getLogger("google.api_core.bidi"), threading.excepthook
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    threading.excepthook = lambda failure: told.put(failure.exc_value)
    try:
        yield
    finally:
        threading.excepthook = hook
        log.setLevel(level)
