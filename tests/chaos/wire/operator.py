"""Somebody who cancels, retries and skips while the storm is on, when the run was written so many times."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from flowcore.domain import manual
from flowcore.domain.model import Run, StepStatus
from flowcore.domain.patch import NOTHING, Patch
from flowcore.domain.times import to_text
from tests.chaos.wire.arena import Arena


class Act(NamedTuple):
    kind: str  # cancel: the flag alone; stop: the whole patch; wish: failed steps again, or without them
    after: int  # writes
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} after {self.after} writes"


class Operator:
    """`patience`: how often a run that failed is given another chance."""

    def __init__(self, arena: Arena, run_id: str, acts: Iterable[Act], patience: int) -> None:
        self._arena = arena
        self._run_id = run_id
        self._acts = deque(sorted(acts, key=lambda act: act.after))
        self._patience = patience
        self.acted: Counter[str] = Counter()

    def wants_to_act(self) -> bool:
        return bool(self._acts) and self._arena.book.life(self._run_id).writes >= self._acts[0].after

    def act(self) -> None:
        act = self._acts.popleft()
        chance = Random(act.seed)
        match act.kind:
            case "cancel":
                self._write(act.kind, lambda run: NOTHING if run.status.finished else _flagged())
            case "stop":
                self._write(act.kind, lambda run: manual.cancel(run, _now()))
            case _:
                self._write(act.kind, lambda run: _wish(run, chance))

    def reopens(self) -> bool:
        """After the end: whether a failed run goes on."""
        if not self._patience or self._arena.book.life(self._run_id).document["status"] != "FAILED":
            return False
        self._patience -= 1
        self._write("reopen", _all_again)
        return not self._arena.book.life(self._run_id).over

    def _write(self, kind: str, decide: Callable[[Run], Patch]) -> None:
        """Whatever came of it, a reply or none, the book knows when this returns."""
        with suppress(manual.Refused):
            self.acted[kind] += self._arena.by_an_operator(self._run_id, decide)
        self._arena.book.catch_up()


def _flagged() -> Patch:
    """With a time of its own, by which the arena knows an operator's writes."""
    return Patch({"cancelRequested": True, "updatedAt": to_text(_now())})


def _now() -> datetime:
    return datetime.now(UTC)


def _wish(run: Run, chance: Random) -> Patch:
    """Some of what failed is tried again, and some of what waits is done without."""
    failed = [step.step_id for step in run.in_status(StepStatus.FAILED)]
    waiting = [step.step_id for status in (StepStatus.PENDING, StepStatus.READY) for step in run.in_status(status)]
    skipped = [name for name in failed if chance.random() < 0.5]
    skipped += [name for name in waiting if chance.random() < 0.2]
    return manual.reopen(run, _now(), retry=[name for name in failed if name not in skipped], skip=skipped)


def _all_again(run: Run) -> Patch:
    return manual.retry(run, [step.step_id for step in run.in_status(StepStatus.FAILED)], _now())
