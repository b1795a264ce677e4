"""`deploy/smoke.sh`, in Python: one run in the cloud, watched to its end; then its document and its objects go.

The shipped smoke flow asks no model and buys no chart. `--flow` takes a definition of one's own. A run that is kept, or
that nobody was left to delete, expires together with its objects.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from google.cloud import firestore
from google.cloud.storage import Client  # type: ignore[import-untyped]

from deploy.__main__ import target_arguments, target_of
from deploy.target import InvalidTarget, Target
from flowcore.contracts.flows import instantiate

FLOW = Path(__file__).parent / "smoke_flow.json"
FINISHED = ("SUCCEEDED", "FAILED", "CANCELLED")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = target_arguments(argparse.ArgumentParser(prog="deploy/smoke.sh", description=__doc__))
    parser.add_argument("--flow", type=Path, default=FLOW, help="the file of a flow's definition")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long the run may take")
    parser.add_argument("--keep", action="store_true", help="leave the run and its objects there, to look at")
    asked = parser.parse_args(arguments)
    try:
        where = target_of(asked)
    except InvalidTarget as problem:
        print(f"smoke: {problem}", file=sys.stderr)
        return 1
    definition = json.loads(asked.flow.read_text("utf-8"))
    return smoke(where, definition, asked.seconds, keep=asked.keep)


def smoke(where: Target, definition: Mapping[str, Any], seconds: float, *, keep: bool) -> int:
    now = datetime.now(UTC)
    run_id = f"smoke-{now:%Y%m%d-%H%M%S}"
    document = (
        firestore.Client(project=where.project, database=where.database)
        .collection(where.runs_collection)
        .document(run_id)
    )
    bucket = Client(project=where.project).bucket(where.bucket)
    document.create(run_document(where, definition, run_id, now))
    print(f"{where.runs_collection}/{run_id} in {where.project}")
    try:
        run = awaited(lambda: document.get().to_dict() or {}, seconds)
        for line in account(run):
            print(line)
        return 0 if run.get("status") == "SUCCEEDED" else 1
    finally:
        if not keep:
            document.delete()
            for prefix in ("runs", "charts"):
                for blob in bucket.list_blobs(prefix=f"{prefix}/{run_id}/"):
                    blob.delete()


def run_document(where: Target, definition: Mapping[str, Any], run_id: str, now: datetime) -> dict[str, object]:
    trigger = {"type": "DEBUG", "source": "deploy/smoke.sh"}
    run = instantiate(definition, {}, run_id=run_id, now=now, trigger=trigger)
    return {**run, "expireAt": now + timedelta(days=where.artifacts_days)}


def awaited(look: Callable[[], dict[str, Any]], seconds: float) -> dict[str, Any]:
    """The run when it has finished, or as it is when the time is up."""
    ends = time.monotonic() + seconds
    run = look()
    while run.get("status") not in FINISHED and time.monotonic() < ends:
        time.sleep(1.0)
        run = look()
    return run


def account(run: Mapping[str, Any]) -> list[str]:
    steps = [f"  {step['status']:<10} {name}{_more(step)}" for name, step in sorted(run.get("steps", {}).items())]
    return [*steps, f"{run.get('status')}"]


def _more(step: Mapping[str, Any]) -> str:
    """Why it failed, or where its result is."""
    error, uri = step.get("error"), step.get("outputs", {}).get("gcs_uri")
    if error:
        return f": {error.get('code')}: {error.get('message')}"
    return f" → {uri}" if uri else ""


if __name__ == "__main__":
    sys.exit(main())
