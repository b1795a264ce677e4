"""The run documents: conditional writes, and the questions that a sweep asks."""

from datetime import UTC, datetime, timedelta

import pytest

from flowcore.adapters import firestore
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import DELETE, Patch
from flowcore.ports import Conflict
from flowcore.testing.world import T0
from tests.ports.conftest import Outside


def stored(outside: Outside, run_id: str = "r1") -> Snapshot:
    snapshot = outside.runs.get(run_id)
    assert snapshot is not None
    return snapshot


def test_a_document_that_is_not_there_is_none(outside: Outside) -> None:
    assert outside.runs.get("r1") is None


def test_a_document_comes_with_the_moment_of_its_last_change(outside: Outside) -> None:
    outside.put("r1", {"status": "PENDING", "wakeAt": T0, "steps": {"a": {"n": 1}}})
    first = stored(outside)
    assert (first.run_id, first.document) == ("r1", {"status": "PENDING", "wakeAt": T0, "steps": {"a": {"n": 1}}})
    outside.put("r1", {"status": "RUNNING"})
    assert stored(outside).update_time > first.update_time


def test_a_patch_changes_what_it_names_and_nothing_else(outside: Outside) -> None:
    outside.put("r1", {"status": "PENDING", "steps": {"a": {"status": "PENDING", "note": 1}, "b": {"note": 2}}})
    before = stored(outside)
    changed = outside.runs.update("r1", Patch({"steps.a.status": "READY", "new.map.of": [1]}), before.update_time)
    after = stored(outside)
    assert after.update_time == changed > before.update_time
    assert after.document == {
        "status": "PENDING",
        "steps": {"a": {"status": "READY", "note": 1}, "b": {"note": 2}},
        "new": {"map": {"of": [1]}},
    }


def test_a_field_can_be_taken_away(outside: Outside) -> None:
    outside.put("r1", {"steps": {"a": {"error": {"code": "X"}, "lease": {"token": "t"}}}, "wakeAt": T0})
    patch = Patch({"steps.a.error": DELETE, "wakeAt": DELETE, "steps.a.never": DELETE, "steps.a.lease.token": DELETE})
    outside.runs.update("r1", patch, stored(outside).update_time)
    assert stored(outside).document == {"steps": {"a": {"lease": {}}}}


def test_a_write_on_what_is_no_longer_true_is_a_conflict(outside: Outside) -> None:
    outside.put("r1", {"n": 1})
    stale = stored(outside)
    outside.put("r1", {"n": 2})
    with pytest.raises(Conflict):
        outside.runs.update("r1", Patch({"n": 3}), stale.update_time)
    assert stored(outside).document == {"n": 2}


def test_of_two_writes_on_one_snapshot_the_second_is_a_conflict(outside: Outside) -> None:
    outside.put("r1", {"n": 1})
    snapshot = stored(outside)
    outside.runs.update("r1", Patch({"n": 2}), snapshot.update_time)
    with pytest.raises(Conflict):
        outside.runs.update("r1", Patch({"n": 3}), snapshot.update_time)


def test_a_write_to_what_is_not_there_is_a_conflict(outside: Outside) -> None:
    with pytest.raises(Conflict):
        outside.runs.update("r1", Patch({"n": 3}), T0)
    assert outside.runs.get("r1") is None


def test_a_write_that_changes_nothing_keeps_the_moment(outside: Outside) -> None:
    outside.put("r1", {"n": 1})
    before = stored(outside)
    assert outside.runs.update("r1", Patch({"n": 1, "m": DELETE}), before.update_time) == before.update_time
    assert stored(outside) == before


@pytest.mark.parametrize(
    "step_id", ["plain", "mit Leerzeichen", "ünïcødé-日本", "1st", "a-b", "it's", 'quo"ted', "back\\slash", "(x)"]
)
def test_a_step_may_have_any_name_that_is_a_name(outside: Outside, step_id: str) -> None:
    outside.put("r1", {"steps": {step_id: {"status": "PENDING"}}})
    patch = Patch({f"steps.{step_id}.status": "READY", f"steps.{step_id}.error": DELETE})
    outside.runs.update("r1", patch, stored(outside).update_time)
    assert stored(outside).document == {"steps": {step_id: {"status": "READY"}}}


def test_what_comes_back_is_what_was_put(outside: Outside) -> None:
    whole: dict[str, object] = {
        "text": "ü",
        "none": None,
        "list": [1, 2.5, {"a": True}],
        "bytes": b"\x00\xff",
        "big": -(2**63),
        "map": {},
    }
    moment = datetime(2025, 12, 24, 12, 0, 0, 123456, tzinfo=UTC)
    outside.put("r1", {**whole, "moment": moment})
    outside.runs.update("r1", Patch({"copy": {**whole, "moment": moment}}), stored(outside).update_time)
    assert stored(outside).document == {**whole, "moment": moment, "copy": {**whole, "moment": moment}}


# --- what a sweep asks -------------------------------------------------------------------------------------


def test_due_are_those_whose_moment_has_come_and_those_that_nobody_has_seen(outside: Outside) -> None:
    documents: dict[str, dict[str, object]] = {
        "b-now": {"status": "RUNNING", "wakeAt": T0},
        "a-later": {"status": "RUNNING", "wakeAt": T0 + timedelta(microseconds=1)},
        "c-long-ago": {"status": "RUNNING", "wakeAt": T0 - timedelta(days=1)},
        "d-finished": {"status": "CANCELLED", "wakeAt": T0 - timedelta(hours=1)},
        "e-text": {"status": "RUNNING", "wakeAt": "2025-12-24T11:00:00Z"},
        "f-new": {"status": "PENDING"},
        "a-new-and-due": {"status": "PENDING", "wakeAt": T0 - timedelta(hours=2)},
        "g-new-but-later": {"status": "PENDING", "wakeAt": T0 + timedelta(days=1)},
        "h-neither": {"status": "RUNNING"},
        "i-nothing": {},
    }
    for name, document in documents.items():
        outside.put(name, document)
    found = [snapshot.run_id for snapshot in outside.runs.due(T0)]
    assert found == ["c-long-ago", "a-new-and-due", "d-finished", "b-now", "f-new", "g-new-but-later"]


def test_unfinished_are_all_but_the_finished(outside: Outside) -> None:
    for status in ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "ODD", 7, True, None):
        outside.put(f"run-{status}", {"status": status})
    outside.put("run-without", {"steps": {}})
    found = {snapshot.run_id for snapshot in outside.runs.unfinished()}
    assert found == {"run-PENDING", "run-RUNNING", "run-ODD", "run-7", "run-True"}


@pytest.mark.parametrize("count", [0, 2, 3, 6, 7])
def test_more_than_one_page_is_read_to_its_end(outside: Outside, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(firestore, "PAGE", 3)
    names = [f"run-{number}" for number in range(count)]
    for number, name in enumerate(names):
        moment = T0 - timedelta(seconds=number // 2)  # two at a time: a page may end between equals
        outside.put(name, {"status": "RUNNING", "wakeAt": moment})
    assert sorted(snapshot.run_id for snapshot in outside.runs.due(T0)) == names
    assert sorted(snapshot.run_id for snapshot in outside.runs.unfinished()) == names


def test_what_a_query_brings_can_be_written_at_once(outside: Outside) -> None:
    outside.put("r1", {"status": "PENDING", "steps": {"a": 1}})
    (snapshot,) = outside.runs.due(T0)
    assert snapshot == stored(outside)
    outside.runs.update("r1", Patch({"status": "RUNNING"}), snapshot.update_time)
    assert list(outside.runs.due(T0)) == []


def test_a_run_that_changes_while_the_pages_are_read_is_met_at_most_once(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firestore, "PAGE", 2)
    for number in range(6):
        outside.put(f"run-{number}", {"status": "RUNNING", "wakeAt": T0 - timedelta(seconds=10 - number)})
    met = []
    for snapshot in outside.runs.due(T0):
        met.append(snapshot.run_id)
        outside.runs.update(snapshot.run_id, Patch({"wakeAt": T0 + timedelta(hours=1)}), snapshot.update_time)
    assert met == [f"run-{number}" for number in range(6)]
