"""Every case of spec/vectors, replayed; and what must hold for any of them."""

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import NOTHING, Patch, apply
from flowcore.domain.plan import plan, settled, wake_at
from tests.domain.promises import broken_promises_of
from tests.vectors.cases import FOLDER, Vector, all_vectors, as_answer, encoded, replay, with_words_filled_in

VECTORS = all_vectors()
SCHEMA = FOLDER.parent / "flow_run.schema.json"
WORKER = ("claim", "finalize", "adopt")


def named(vectors: list[Vector]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=[vector.name for vector in vectors])


def patched(vector: Vector) -> Snapshot:
    answer = replay(vector)
    assert isinstance(answer, Patch)
    return replace(vector.snapshot, document=apply(vector.snapshot.document, answer))


@named(VECTORS)
def test_kernel_answers_as_told(vector: Vector) -> None:
    answer = as_answer(replay(vector))
    assert answer == with_words_filled_in(vector.expected, answer), vector.case["says"]


@named([vector for vector in VECTORS if vector.operation == "plan"])
def test_planning_again_gives_nothing(vector: Vector) -> None:
    assert plan(parse_run(patched(vector)), vector.now) == NOTHING


@named([vector for vector in VECTORS if vector.operation == "plan"])
def test_patched_document_parses_to_what_was_decided(vector: Vector) -> None:
    decided = settled(vector.run, vector.now)
    # A run that was broken by its own status is whole again once it is FAILED.
    after = replace(parse_run(patched(vector)), defect=decided.defect)
    assert after == replace(decided, wake_at=wake_at(decided, vector.now))


@named([vector for vector in VECTORS if vector.operation in WORKER])
def test_worker_writes_its_own_step_and_nothing_else(vector: Vector) -> None:
    paths = as_answer(replay(vector))
    others = {path for path in paths if not path.startswith("steps.")} - {"wakeAt", "updatedAt"}
    assert not others
    assert len({path.split(".")[1] for path in paths if path.startswith("steps.")}) <= 1


@named([vector for vector in VECTORS if vector.document and isinstance(replay(vector), Patch)])
def test_step_that_moved_keeps_the_promises_of_its_new_state(vector: Vector) -> None:
    before, after = vector.run, parse_run(patched(vector))
    moved = [step for name, step in after.steps.items() if before.steps[name].status is not step.status]
    assert not [complaint for step in moved for complaint in broken_promises_of(step)]


@pytest.mark.skipif(not SCHEMA.exists(), reason="spec/flow_run.schema.json is not written yet")
@named([vector for vector in VECTORS if vector.document and not vector.broken])
def test_document_fits_the_schema_before_and_after(vector: Vector) -> None:
    schema = Draft202012Validator(json.loads(SCHEMA.read_text()))
    after = patched(vector).document if isinstance(replay(vector), Patch) else vector.document
    for document in (vector.document, after):
        assert not [f"{error.json_path}: {error.message}" for error in schema.iter_errors(encoded(document))]


def test_every_case_says_what_it_shows() -> None:
    told = [vector.case["says"] for vector in VECTORS]
    assert all(words.endswith((".", "…")) for words in told)
    assert len(set(told)) == len(told)
