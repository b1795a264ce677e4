"""What became of the runs of an arena: how each one ended, and what an auditor says of them all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

from tests.chaos.auditor import Auditor
from tests.chaos.transitions import Document, moment
from tests.chaos.wire.arena import Arena
from tests.chaos.wire.book import Told

EVIDENCE = ".attempt-"  # of a failed attempt: the auditor's business
FAR_AHEAD = timedelta(minutes=30)  # of every function's clock, and not of the one that we put forward
EXPECTED = ("NetworkError", "Contended")  # to be told nothing, or to lose a race, is no crash
DIED = "died ("  # as the platform says it of a process that it has not killed itself
_OF_THE_MOMENT = re.compile(rb'"(createdAt|finishedAt|generatedAt|requestId)":"[^"]*"')


class Step(NamedTuple):
    name: str
    status: str
    outputs: str  # without what the attempts cost

    def __str__(self) -> str:
        return " ".join(self)


class Stored(NamedTuple):
    """An object. Its content is compared without the run's id and without times: all else is the same every time."""

    name: str
    owner: str
    content_type: str
    inputs: str  # what it was made from
    content: str

    def __str__(self) -> str:
        made_from = _hash(self.inputs.encode())
        return f"{self.name} of {self.owner}, {self.content_type} {self.content[:12]} from {made_from[:12]}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with its id left out: what a disturbed run must have in common with an undisturbed one."""

    run: str
    steps: tuple[Step, ...]
    objects: tuple[Stored, ...]

    def differs(self, other: Ending, given_up: Collection[str] = ()) -> str | None:
        """In what, if it does. Of steps that were rightly given up, and then of the run's status, nothing is asked."""
        ours, theirs = self._parts(given_up), other._parts(given_up)
        if ours == theirs:
            return None
        return f"ended with {_told(ours - theirs)} in the place of {_told(theirs - ours)}"

    def _parts(self, given_up: Collection[str]) -> set[object]:
        steps = {step for step in self.steps if step.name not in given_up}
        objects = {stored for stored in self.objects if stored.owner.rpartition(" ")[2] not in given_up}
        return {*steps, *objects} if given_up else {self.run, *steps, *objects}


def ending(arena: Arena, run_id: str) -> Ending:
    document = arena.book.life(run_id).document
    objects, in_pieces = [], set()
    for blob, content in _objects(arena, run_id):
        said = blob.metadata or {}
        owner = f"{said.get('run')} {said.get('step')}".replace(run_id, "RUN")
        objects.append(
            Stored(
                blob.name.replace(run_id, "RUN"),
                owner,
                str(blob.content_type),
                _inputs(document["steps"].get(said.get("step"), {}), said.get("inputs-sha256")).replace(run_id, "RUN"),
                _hash(_OF_THE_MOMENT.sub(b"", content.replace(run_id.encode(), b"RUN"))),
            )
        )
        if len(content) > arena.flow.whole_up_to:
            in_pieces.add(str(said.get("step")))
    steps = [
        Step(name, step["status"], _outputs(step, name in in_pieces).replace(run_id, "RUN"))
        for name, step in document["steps"].items()
    ]
    return Ending(document["status"], tuple(sorted(steps)), tuple(sorted(objects)))


def wrong_objects(arena: Arena, run_id: str) -> Iterator[str]:
    """Objects whose bytes are not those that were meant, by the hash that each of them carries."""
    for blob, content in _objects(arena, run_id, with_evidence=True):
        said = (blob.metadata or {}).get("sha256")
        if said != _hash(content) and (said or len(content) <= arena.flow.whole_up_to):
            yield f"{blob.name} has {len(content)} bytes that do not fit its sha256, {said}"


def judge(arena: Arena) -> dict[str, list[str]]:
    """What the auditor says, by run; what it says of no run in particular stands under the empty id."""
    there = arena.world

    def read(name: str) -> bytes:
        content: bytes = there.storage.bucket(there.bucket).blob(name).download_as_bytes()
        return content

    found: dict[str, list[str]] = {}
    for law in Auditor().hear(marked(arena)).verdict(read=read):
        found.setdefault(next((run_id for run_id in arena.book.runs if run_id in law), ""), []).append(law)
    for crash in crashes(arena):
        found.setdefault(next((run_id for run_id in arena.book.runs if run_id in crash), ""), []).append(crash)
    for run_id, life in arena.book.runs.items():
        asked = run_id in arena.begun
        if not asked or life.created != 1:
            found.setdefault(run_id, []).append(f"was created {life.created} times, and asked for: {asked}")
    return found


def marked(arena: Arena) -> Iterator[Told]:
    """An operator may write what nobody else may, and our own clock may be ahead: each write says whether it was so."""
    for record in arena.book.so_far():
        if record.kind == "write":
            run_id, after = record.resource.rpartition("/")[2], record.detail["after"] or {}
            stamp = after.get("updatedAt")
            fresh = stamp != (record.detail["before"] or {}).get("updatedAt")
            by_hand = fresh and (run_id, stamp) in arena.by_hand
            updated = moment(stamp)
            ahead = updated is not None and updated.timestamp() > record.time + FAR_AHEAD.total_seconds()
            yield replace(record, detail={**record.detail, "by_hand": by_hand, "ahead": ahead})
        else:
            yield record


def crashes(arena: Arena) -> Iterator[str]:
    """Exceptions and deaths in the logs of the functions that no trouble explains."""
    for log in sorted((arena.home.folder / "log").glob("*.log")):
        for line in log.read_text(errors="replace").splitlines():
            if DIED in line:
                yield f"{log.stem} died, and no fault had killed it: {line}"
            if '"exc_info"' not in line:
                continue
            try:
                said = json.loads(line)
            except ValueError:
                continue  # whose process died in the middle of it
            if said["exc_info"]["exception"] not in EXPECTED:
                yield f"{log.stem} {said.get('run_id', '')}: {said['event']}: {json.dumps(said['exc_info'])}"


def _objects(arena: Arena, run_id: str, *, with_evidence: bool = False) -> Iterator[tuple[Any, bytes]]:
    for root in ("runs", "charts"):
        for blob in arena.world.storage.list_blobs(arena.world.bucket, prefix=f"{root}/{run_id}/"):
            if with_evidence or EVIDENCE not in blob.name:
                yield blob, blob.download_as_bytes()


def _inputs(step: Document, hashed: str | None) -> str:
    """What the document says, if that is what the object says."""
    told = json.dumps(step.get("inputs"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return told if _hash(told.encode()) == hashed else f"not {told}"


def _outputs(step: Document, in_pieces: bool) -> str:
    """Who finds an object that came in pieces may know no more of it yet than where it is (spec/artifacts.md)."""
    outputs = {name: value for name, value in step.get("outputs", {}).items() if name != "execution"}
    return json.dumps({"gcs_uri": outputs.get("gcs_uri")} if in_pieces else outputs, sort_keys=True)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _told(parts: set[object]) -> str:
    return "; ".join(sorted(map(str, parts))) or "nothing"
