"""What became of the runs of an arena: how each one ended, and what an auditor says of them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.chaos.auditor import Auditor
from tests.chaos.wire.arena import Arena
from tests.chaos.wire.book import Told


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with its id left out: what a disturbed run must have in common with an undisturbed one."""

    run: str
    steps: tuple[tuple[str, str], ...]
    objects: tuple[tuple[str, str], ...]  # name and owner


def ending(arena: Arena, run_id: str) -> Ending:
    document = arena.book.life(run_id).document
    steps = sorted((name, step["status"]) for name, step in document["steps"].items())
    return Ending(document["status"], tuple(steps), tuple(sorted(_objects(arena, run_id))))


def judge(arena: Arena) -> dict[str, list[str]]:
    """What the auditor says, by run; what it says of no run in particular stands under the empty id."""
    there = arena.world

    def read(name: str) -> bytes:
        content: bytes = there.storage.bucket(there.bucket).blob(name).download_as_bytes()
        return content

    found: dict[str, list[str]] = {}
    for law in Auditor(skew=None).hear(_marked(arena)).verdict(read=read):
        found.setdefault(next((run_id for run_id in arena.book.runs if run_id in law), ""), []).append(law)
    for run_id, life in arena.book.runs.items():
        asked = run_id in arena.begun
        if not asked or life.created != 1:
            found.setdefault(run_id, []).append(f"was created {life.created} times, and asked for: {asked}")
    return found


def _marked(arena: Arena) -> Iterator[Told]:
    """An operator may write what nobody else may, so each write says whether it was one's."""
    for record in arena.book.so_far():
        if record.kind == "write":
            run_id = record.resource.rpartition("/")[2]
            by_hand = run_id in arena.unclear or (run_id, record.detail["time"]) in arena.by_hand
            yield replace(record, detail={**record.detail, "by_hand": by_hand})
        else:
            yield record


def _objects(arena: Arena, run_id: str) -> Iterator[tuple[str, str]]:
    for root in ("runs", "charts"):
        for blob in arena.world.storage.list_blobs(arena.world.bucket, prefix=f"{root}/{run_id}/"):
            if ".attempt-" not in blob.name:  # evidence of a failed attempt: the auditor's business
                owner = blob.metadata or {}
                said = f"{owner.get('run')} {owner.get('step')}"
                yield blob.name.replace(run_id, "RUN"), said.replace(run_id, "RUN")
