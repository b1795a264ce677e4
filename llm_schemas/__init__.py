"""The shapes that a report may have: one file a shape, each the document that belongs into Firestore's `llm_schemas`.

A shape that is in use never changes, because reports out there were written in it: a better one is the next number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLLECTION = "llm_schemas"


def shipped() -> Mapping[str, dict[str, Any]]:
    """Every document of the registry by its id, the lowest version first."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*.json")]
    return {document["schemaId"]: document for document in sorted(documents, key=_version)}


def _version(document: Mapping[str, Any]) -> int:
    return int(document["schemaId"].rpartition("_v")[2])
