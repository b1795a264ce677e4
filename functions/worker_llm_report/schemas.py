"""The shape that the answer must have: a document of the registry, and the only judge of what the model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.domain.errors import Code, ConfigurationError
from flowcore.engine.context import StepContext
from flowcore.ports import Documents
from functions.worker_llm_report.fitness import Unfit, fit
from functions.worker_llm_report.profile import PLACE, SCHEMA_ID, Profile

COLLECTION = "llm_schemas"
KIND = "LLM_REPORT_OUTPUT"


@dataclass(frozen=True, slots=True)
class OutputSchema:
    schema_id: str
    json_schema: Mapping[str, object]
    sha256: str

    @property
    def version(self) -> int:
        """The number in the id. The profile let no id pass that has none."""
        return int(SCHEMA_ID.sub(r"\1", self.schema_id))


def find_schema(ctx: StepContext, documents: Documents, profile: Profile) -> OutputSchema:
    path = f"{COLLECTION}/{profile.schema_id}"
    found = ctx.patiently("firestore", lambda timeout: documents.find(path, timeout))
    if found is None:
        raise _unusable(
            f"{PLACE}.structuredOutput.schemaId: {path} does not exist; seed it, or name another", "schema_not_found"
        )
    for name, expected in (("schemaId", profile.schema_id), ("kind", KIND)):
        if found.fields.get(name) != expected:
            raise _unusable(f"{path}.{name} must be {expected!r}")
    try:
        json_schema = fit(found.fields.get("jsonSchema"))
    except Unfit as unfit:
        raise _unusable(f"{path}.jsonSchema: {unfit}") from unfit
    schema = OutputSchema(profile.schema_id, json_schema, sha256(canonical_json(json_schema)))
    stated = profile.structured_output.schema_sha256
    if stated is not None and stated != schema.sha256:
        # For information only: the registry's documents do not change, and they count, whatever a profile remembers.
        ctx.log.warning("schema_hash_differs", schema_id=schema.schema_id, stated=stated, sha256=schema.sha256)
    return schema


def _unusable(message: str, reason: str = "schema_unusable") -> ConfigurationError:
    return ConfigurationError(Code.LLM_PROFILE_INVALID, message, details={"reason": reason})
