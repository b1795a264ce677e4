"""The one optimistic loop. Every write to a run goes through it, and the only race in the system lives here.

A decision is made on a snapshot and written on the condition that the snapshot is still the truth. If it is not, or
if nobody knows (the reply was lost), the document is read and the decision made anew. Since decisions ask "is it
mine?" by token, a write that landed without our knowing is recognised, and not repeated.

A document that a stranger has filled to its brim takes no decision at all. It is ended with a single word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Run, Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import NOTHING, Patch, apply
from flowcore.domain.plan import ended_without_words
from flowcore.engine.patience import Patience
from flowcore.ports import Conflict, DocumentFull, Runs

Decide = Callable[[Run], Patch]


class Contended(Exception):
    """Others kept writing the run for as long as the policy lasted. Each of their writes makes an event of its own."""


@dataclass(frozen=True, slots=True)
class Updated:
    """The run as it is now, as far as we know; None: it does not exist. `patch` is what was written, if anything."""

    snapshot: Snapshot | None
    run: Run | None
    patch: Patch
    conflicts: int


def update(runs: Runs, run_id: str, snapshot: Snapshot | None, decide: Decide, patience: Patience) -> Updated:
    """Decide and write; when the run has moved, read it and decide again. The snapshot saves the first read."""
    races = silences = 0
    while True:
        try:
            snapshot = snapshot or runs.get(run_id, patience.room())
            if snapshot is None:
                return Updated(None, None, NOTHING, races)
            run = parse_run(snapshot)
            patch = decide(run)
            if not patch:
                return Updated(snapshot, run, NOTHING, races)
            update_time = runs.update(run_id, patch, snapshot.update_time, patience.room())
            after = Snapshot(run_id, apply(snapshot.document, patch), update_time)
            return Updated(after, parse_run(after), patch, races)
        except Conflict:
            races += 1
            if not patience.after_race(races):
                raise Contended(f"{run_id}: {races} writes lost against others") from None
        except DocumentFull:
            if decide is ended_without_words:
                raise
            decide = ended_without_words
        except NetworkError as silence:
            silences += 1
            if not patience.after_silence(silences, silence.error):
                raise
        snapshot = None
