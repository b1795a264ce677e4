"""A new run from the inputs of an old one: the same steps, as though nothing had happened to them yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from flowcore.cli.looking import run_of
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.starting import id_for
from flowcore.cli.world import World
from flowcore.domain.times import to_text
from flowcore.ports import Conflict

# What a producer writes; all the rest was written by the kernel, and is history.
_OF_THE_RUN = ("schemaVersion", "flowKey", "definitionSha256", "scope")
_OF_A_STEP = ("stepType", "dependsOn", "inputs", "timeframe", "optional", "retry")


def repeat(there: World, run_id: str, now: datetime, suffix: str) -> str:
    """Returns the new run's id."""
    old = run_of(there, run_id)
    if old.run.defect:
        raise Problem(
            f"{run_id} is broken ({old.run.defect}), and so would be its rerun; correct the flow and use: flow run",
            Exit.REFUSED,
        )
    new_id = id_for(str(old.run.scope.get("symbol") or old.document.get("flowKey") or "run"), now, suffix)
    try:
        there.documents.create(f"{there.collection}/{new_id}", _anew(old.document, new_id, run_id, now))
    except Conflict:
        raise Problem(f"{new_id} is there already; ask again", Exit.REFUSED) from None
    return new_id


def _anew(document: Mapping[str, Any], new_id: str, old_id: str, now: datetime) -> dict[str, object]:
    created = to_text(now)
    return {
        **{field: document[field] for field in _OF_THE_RUN if field in document},
        "runId": new_id,
        "status": "PENDING",
        "createdAt": created,
        "trigger": {"type": "USER", "source": f"flow rerun {old_id}"},
        "steps": {
            step_id: {
                "status": "PENDING",
                "createdAt": created,
                "outputs": {},
                **{field: step[field] for field in _OF_A_STEP if field in step},
            }
            for step_id, step in document["steps"].items()
        },
    }
