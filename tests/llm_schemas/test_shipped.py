"""The registry that ships: schemas that a report can be written in, unchanged since their hash was taken."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import llm_schemas
from emulator.gemini.prompt import Prompt
from emulator.gemini.schema import instance
from emulator.gemini.words import Words
from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.testing.stores import storable
from functions.worker_llm_report.fitness import fit
from functions.worker_llm_report.verdict import Flaw, judge

FOLDER = Path(llm_schemas.__file__).parent
SHIPPED = llm_schemas.shipped()
each = pytest.mark.parametrize("document", SHIPPED.values(), ids=SHIPPED.keys())


def test_every_file_is_a_document_under_its_own_name() -> None:
    files = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
    assert files == dict(SHIPPED)
    assert all(document["schemaId"] == name for name, document in files.items())


def test_versions_are_counted_without_a_gap() -> None:
    assert list(SHIPPED) == [f"llm_report_output_v{number}" for number in range(1, len(SHIPPED) + 1)]
    assert len(SHIPPED) >= 2


@each
def test_a_document_has_what_the_registry_asks_for(document: dict[str, Any]) -> None:
    assert document.keys() == {"schemaId", "kind", "createdAt", "description", "jsonSchema", "sha256"}
    assert document["kind"] == "LLM_REPORT_OUTPUT"
    assert document["description"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["createdAt"])


@each
def test_a_schema_is_the_one_that_was_hashed(document: dict[str, Any]) -> None:
    """If this fails, do not correct the hash: reports were written in that schema. Add the next version."""
    assert document["sha256"] == sha256(canonical_json(document["jsonSchema"]))


@each
def test_a_schema_is_fit_and_firestore_can_hold_it(document: dict[str, Any]) -> None:
    assert fit(document["jsonSchema"]) is document["jsonSchema"]
    assert storable(document) == document


@each
def test_a_model_that_fills_in_the_schema_passes_its_own_judge(document: dict[str, Any]) -> None:
    prompt = Prompt("symbol: X\nopen,high,low,close\n1,3,1,2\n2,4,2,3\n", "", (), document["jsonSchema"], True, None)
    output = instance(document["jsonSchema"], Words(prompt))
    assert judge(json.dumps(output), document["jsonSchema"]) == output
    assert {"trend", "levels", "volatility"} <= output["details"].keys()


@each
@pytest.mark.parametrize("missing", ["summary", "details"])
def test_a_report_without_one_of_its_parts_is_refused(document: dict[str, Any], missing: str) -> None:
    prompt = Prompt("symbol: X\nopen,high,low,close\n1,3,1,2\n2,4,2,3\n", "", (), document["jsonSchema"], True, None)
    output = {**instance(document["jsonSchema"], Words(prompt))}
    del output[missing]
    verdict = judge(json.dumps(output), document["jsonSchema"])
    assert verdict == Flaw("schema_validation", (f"missing={missing}",))


@pytest.mark.parametrize("path", sorted((FOLDER.parent / "spec/prompts").glob("*.json")), ids=lambda path: path.stem)
def test_a_prompt_that_ships_has_what_a_worker_asks_for(path: Path) -> None:
    prompt = json.loads(path.read_text())
    assert prompt.keys() == {"schemaVersion", "systemInstruction", "userPrompt"}
    assert prompt["schemaVersion"] == 1
    assert prompt["systemInstruction"].strip()
    assert prompt["userPrompt"].strip()
    assert re.fullmatch(r"[a-z][a-z0-9_]*_v[1-9]\d*", path.stem)
