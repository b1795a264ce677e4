"""A step's objects: looked for before anything is paid, created once, recognised when somebody else was faster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from flowcore.domain.artifacts import Artifact, belongs_to, description, ownership, recorded, sha256
from flowcore.domain.errors import Code, StepFailed
from flowcore.domain.model import Step
from flowcore.domain.moves import Succeeded
from flowcore.engine.patience import Patience
from flowcore.ports import Artifacts, ObjectExists, StoredObject

# Up to here content in pieces is put together: one call, which can be tried again.
WHOLE_UP_TO = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Results:
    artifacts: Artifacts
    reading: Patience
    writing: Patience

    def existing(self, run_id: str, step: Step, name: str) -> StoredObject | None:
        """This step's object, if it is there. Another step's object under our name is an error, never a result."""
        found = self.reading.persist(lambda timeout: self.artifacts.find(name, timeout))
        if found is not None and not belongs_to(found.metadata, run_id, step):
            owner = f"{found.metadata.get('run')}/{found.metadata.get('step')}"
            raise StepFailed(
                Code.GCS_WRITE_FAILED,
                f"{found.uri} exists, but was made by {owner} or from other inputs; move it away or start a new run",
                retryable=False,
                details={"reason": "object_taken", "uri": found.uri},
            )
        return found

    def put(self, run_id: str, step: Step, name: str, artifact: Artifact) -> Succeeded:
        """Create-only: an object that exists is the result, also when its text differs from ours (models vary)."""
        content = artifact.content if isinstance(artifact.content, bytes) else _whole_or_pieces(artifact.content)
        digest = ""
        try:
            if isinstance(content, bytes):
                digest = sha256(content)
                stored = self._create(
                    name, content, artifact, {**ownership(run_id, step), **description(artifact, digest)}
                )
            else:
                stored = self._create_from_pieces(name, content, artifact, ownership(run_id, step))
        except ObjectExists:
            found = self.existing(run_id, step, name)
            if found is None:
                raise StepFailed(
                    Code.GCS_WRITE_FAILED,
                    f"{name} was there a moment ago and is gone; is something deleting objects?",
                ) from None
            # Our own write whose reply was lost looks the same as another's: either way it is the result.
            return as_success(found, reused=found.metadata.get("sha256") != digest)
        return as_success(stored, reused=False)

    def _create(self, name: str, content: bytes, artifact: Artifact, about: Mapping[str, str]) -> StoredObject:
        return self.writing.persist(
            lambda timeout: self.artifacts.create(name, content, artifact.content_type, about, timeout)
        )

    def _create_from_pieces(
        self, name: str, pieces: Iterable[bytes], artifact: Artifact, about: Mapping[str, str]
    ) -> StoredObject:
        """Once: the pieces are gone afterwards. What is known only at their end is added to the object then."""
        hashed = hashlib.sha256()

        def counted() -> Iterator[bytes]:
            for piece in pieces:
                hashed.update(piece)
                yield piece

        self.artifacts.create(name, counted(), artifact.content_type, about, self.writing.room())
        more = description(artifact, hashed.hexdigest())
        return self.writing.persist(lambda timeout: self.artifacts.annotate(name, more, timeout))


def _whole_or_pieces(pieces: Iterable[bytes]) -> bytes | Iterator[bytes]:
    taken, size, rest = [], 0, iter(pieces)
    for piece in rest:
        taken.append(piece)
        size += len(piece)
        if size > WHOLE_UP_TO:
            return chain(taken, rest)
    return b"".join(taken)


def as_success(stored: StoredObject, *, reused: bool) -> Succeeded:
    return Succeeded(
        gcs_uri=stored.uri,
        outputs=recorded(stored.metadata, "outputs"),
        execution=recorded(stored.metadata, "execution"),
        reused=reused,
    )
