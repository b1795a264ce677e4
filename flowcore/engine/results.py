"""A step's objects: looked for before anything is paid, created once, recognised when somebody else was faster."""

from __future__ import annotations

from dataclasses import dataclass

from flowcore.domain.artifacts import Artifact, belongs_to, metadata, recorded
from flowcore.domain.errors import Code, StepFailed
from flowcore.domain.model import Step
from flowcore.domain.moves import Succeeded
from flowcore.engine.patience import Patience
from flowcore.ports import Artifacts, ObjectExists, StoredObject


@dataclass(frozen=True, slots=True)
class Results:
    artifacts: Artifacts
    reading: Patience
    writing: Patience

    def existing(self, run_id: str, step: Step, name: str) -> StoredObject | None:
        """This step's object, if it is there. Another step's object under our name is an error, never a result."""
        found = self.reading.persist(lambda: self.artifacts.find(name))
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
        about = metadata(run_id, step, artifact)
        try:
            stored = self.writing.persist(
                lambda: self.artifacts.create(name, artifact.content, artifact.content_type, about)
            )
        except ObjectExists:
            found = self.existing(run_id, step, name)
            if found is None:
                raise StepFailed(
                    Code.GCS_WRITE_FAILED,
                    f"{name} was there a moment ago and is gone; is something deleting objects?",
                ) from None
            # Our own write whose reply was lost looks the same as another's: either way it is the result.
            return as_success(found, reused=found.metadata.get("sha256") != about["sha256"])
        return as_success(stored, reused=False)


def as_success(stored: StoredObject, *, reused: bool) -> Succeeded:
    return Succeeded(
        gcs_uri=stored.uri,
        outputs=recorded(stored.metadata, "outputs"),
        execution=recorded(stored.metadata, "execution"),
        reused=reused,
    )
