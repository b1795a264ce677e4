"""The twins keep the promises that the real stores keep: the kernel's safety rests on them, so the tests' does too."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

import pytest

from flowcore.domain.patch import DELETE, Patch
from flowcore.ports import Conflict, ObjectExists
from flowcore.testing.builders import RUN_ID, a_run
from flowcore.testing.stores import MemoryArtifacts, MemoryRuns, storable
from flowcore.testing.world import T0
from tests.engine.stage import unavailable


def test_write_on_a_stale_snapshot_is_a_conflict() -> None:
    runs = MemoryRuns()
    first = runs.put(RUN_ID, a_run())
    runs.update(RUN_ID, Patch({"a": 1}), first.update_time)
    with pytest.raises(Conflict):
        runs.update(RUN_ID, Patch({"a": 2}), first.update_time)


def test_write_to_a_missing_document_is_a_conflict() -> None:
    with pytest.raises(Conflict):
        MemoryRuns().update(RUN_ID, Patch({"a": 1}), T0)


def test_every_change_has_a_later_update_time() -> None:
    runs = MemoryRuns()
    snapshot = runs.put(RUN_ID, a_run())
    later = runs.update(RUN_ID, Patch({"a": 1}), snapshot.update_time)
    assert later > snapshot.update_time
    assert [change.new.update_time for change in runs.changes if change.new] == [snapshot.update_time, later]


def test_write_that_changes_nothing_makes_no_event() -> None:
    runs = MemoryRuns()
    snapshot = runs.put(RUN_ID, {"a": 1})
    assert runs.update(RUN_ID, Patch({"a": 1, "b": DELETE}), snapshot.update_time) == snapshot.update_time
    assert len(runs.changes) == 1


def test_event_tells_before_and_after() -> None:
    runs = MemoryRuns()
    runs.put(RUN_ID, {"a": 1})
    runs.put(RUN_ID, {"a": 2})
    runs.delete(RUN_ID)
    told = [(change.old and change.old.document, change.new and change.new.document) for change in runs.changes]
    assert told == [(None, {"a": 1}), ({"a": 1}, {"a": 2}), ({"a": 2}, None)]


def test_stored_document_is_nobodys_to_change() -> None:
    runs = MemoryRuns()
    document: dict[str, object] = {"steps": {"a": [1]}}
    runs.put(RUN_ID, document)
    document["steps"] = "changed"
    snapshot = runs.get(RUN_ID)
    assert snapshot is not None
    assert snapshot.document == {"steps": {"a": [1]}}


def test_due_runs_are_those_whose_timestamp_has_come() -> None:
    runs = MemoryRuns()
    for name, wake_at in {"past": T0, "later": T0 + timedelta(seconds=1), "text": "2025-12-24T12:00:00Z"}.items():
        runs.put(name, {"status": "RUNNING", "wakeAt": wake_at})
    runs.put("new", {"status": "PENDING"})
    runs.put("finished", {"status": "FAILED", "wakeAt": T0})
    assert {snapshot.run_id for snapshot in runs.due(T0)} == {"past", "new", "finished"}


def test_object_can_be_created_once() -> None:
    artifacts = MemoryArtifacts()
    artifacts.create("a", b"1", "text/plain", {})
    with pytest.raises(ObjectExists):
        artifacts.create("a", b"2", "text/plain", {})
    assert artifacts.read("gs://artifacts/a") == b"1"


def test_fault_is_counted_and_over_after_its_times() -> None:
    artifacts = MemoryArtifacts()
    fault = artifacts.wire.break_next("find", unavailable(), times=2)
    for _ in range(2):
        with pytest.raises(type(unavailable())):
            artifacts.find("a")
    assert artifacts.find("a") is None
    assert (fault.fired, artifacts.wire.calls["find"]) == (2, 3)


def test_fault_after_the_effect_did_its_work() -> None:
    artifacts = MemoryArtifacts()
    artifacts.wire.break_next("create", unavailable(), after_effect=True)
    with pytest.raises(type(unavailable())):
        artifacts.create("a", b"1", "text/plain", {})
    assert artifacts.find("a") is not None


@pytest.mark.parametrize(
    "value",
    [
        {"a": {1, 2}},
        {"a": Decimal(1)},
        {"a": object()},
        {"a": [[1], [2]]},
        {"a": 2**63},
        {"a": "\ud800"},
        {"": 1},
        {"__a__": 1},
        {1: 1},
        {"a": DELETE},
    ],
    ids=["set", "decimal", "object", "list in list", "big", "surrogate", "no name", "reserved", "number", "delete"],
)
def test_what_firestore_refuses_is_refused(value: Mapping[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        storable(value)


def test_what_firestore_takes_is_taken() -> None:
    value = {"a": [{"b": [1, 2.5, None, True, b"x", T0]}], "with.dot": {"ü": -(2**63)}}
    assert storable(value) == value
