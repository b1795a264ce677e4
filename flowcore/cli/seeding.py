"""What a new project needs in Firestore before its first run: schemas, prompts, chart templates, flow definitions.

Each carries its version in its id, so what is there already is right, or somebody has changed it on purpose. It is
then told and kept; only `--replace` writes over it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import llm_schemas
from flowcore.domain.patch import DELETE
from flowcore.ports import Conflict, Documents

_SPEC = Path(__file__).parents[2] / "spec"
_FOLDERS = {"llm_prompts": "prompts", "chart_templates": "chart_templates", "flow_definitions": "flows"}


@dataclass(frozen=True, slots=True)
class Seed:
    path: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sown:
    path: str
    outcome: str  # created, unchanged, replaced, kept


def seeds() -> Iterator[Seed]:
    for schema_id, schema in llm_schemas.shipped().items():
        yield Seed(f"{llm_schemas.COLLECTION}/{schema_id}", schema)
    for collection, folder in _FOLDERS.items():
        for file in sorted((_SPEC / folder).glob("*.json")):
            yield Seed(f"{collection}/{file.stem}", json.loads(file.read_text("utf-8")))


def sow(documents: Documents, seed: Seed, *, replace: bool) -> Sown:
    found = documents.find(seed.path)
    if found is None:
        try:
            documents.create(seed.path, seed.fields)
        except Conflict:  # somebody else sows, too
            return sow(documents, seed, replace=replace)
        return Sown(seed.path, "created")
    if found.fields == seed.fields:
        return Sown(seed.path, "unchanged")
    if not replace:
        return Sown(seed.path, "kept")
    gone = dict.fromkeys(found.fields.keys() - seed.fields.keys(), DELETE)
    documents.update(seed.path, {**gone, **seed.fields}, found.update_time)
    return Sown(seed.path, "replaced")
