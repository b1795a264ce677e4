"""What the verdict calls broken, and what it lets pass, by example."""

from __future__ import annotations

import pytest
from google.cloud.firestore import GeoPoint

from flowcore.testing.builders import RUN_ID
from tests.chaos.inputs import healthy, verdict
from tests.chaos.inputs.documents import brim_full


def test_a_place_on_the_globe_excuses_nothing_else() -> None:
    run = {**healthy.a_market_run(), "where": GeoPoint(1, 2)}
    invalid = {"status": "FAILED", "error": {"code": "FLOW_RUN_INVALID", "details": {"path": "x"}}}
    assert [*verdict.of_run(RUN_ID, run, {**run, **invalid})] == ["a sound document is called invalid: None"]
    broken = {**run, "scope": 7}
    assert [*verdict.of_run(RUN_ID, broken, {**broken, **invalid})] == []
    told = [*verdict.of_run(RUN_ID, broken, {**broken, "status": "CANCELLED"})]
    assert "a defect at 'scope' ended 'CANCELLED' with None" in told


def test_a_place_on_the_globe_is_a_map_in_events_alone() -> None:
    """So whoever reads the document and whoever is told of it may each be right."""
    run = {**healthy.a_market_run(), "scope": GeoPoint(1, 2)}
    invalid = {"status": "FAILED", "error": {"code": "FLOW_RUN_INVALID", "details": {"path": "scope"}}}
    ended = {name: {**step, "status": "SKIPPED"} for name, step in run["steps"].items()}
    for after in (invalid, {"status": "CANCELLED", "steps": ended}):
        assert [*verdict.of_run(RUN_ID, run, {**run, **after})] == []


def test_a_run_that_fails_for_no_reason_is_a_violation() -> None:
    run = healthy.a_market_run()
    ended = {name: {**step, "status": "SKIPPED"} for name, step in run["steps"].items()}
    after = {**run, "status": "FAILED", "steps": ended}
    law = "the run is FAILED, and neither it nor a step says why"
    assert [*verdict.of_run(RUN_ID, run, after)] == [law]
    assert [*verdict.of_run(RUN_ID, run, {**after, "error": {"code": "NO_WORKER"}})] == []
    full = brim_full(run, 0)
    assert [*verdict.of_run(RUN_ID, full, {**full, "status": "FAILED"})] == []


def test_a_run_that_nothing_moves_is_a_violation() -> None:
    run = healthy.a_market_run()
    assert {broken.split(":")[0] for broken in verdict.of_run(RUN_ID, run, run)} >= {"the run is stuck"}


@pytest.mark.parametrize(
    ("ended", "law"),
    [
        ({"status": "SUCCEEDED"}, "a defect at 'scope' ended 'SUCCEEDED' with None"),
        ({"status": "FAILED", "error": {"code": "NO_WORKER"}}, "a defect at 'scope' ended 'FAILED' with 'NO_WORKER'"),
        ({"status": "FAILED", "error": {"code": "FLOW_RUN_INVALID"}}, "the run is invalid, and does not say where"),
    ],
)
def test_a_broken_document_that_ends_otherwise_is_a_violation(ended: dict[str, object], law: str) -> None:
    run = {**healthy.a_market_run("SUCCEEDED"), "status": "RUNNING", "scope": 7}
    assert [found for found in verdict.of_run(RUN_ID, run, {**run, **ended}) if found.startswith(law)]


def test_what_a_stranger_wrote_may_stay_as_it_is() -> None:
    """Also what does not equal itself, or is another object when it is read again."""
    run = healthy.a_market_run("SUCCEEDED")
    old, new = ({**run, "error": {"code": None, "x": [float("nan")]}} for _ in range(2))
    assert [*verdict.of_run(RUN_ID, old, new)] == []
    assert [*verdict.of_run(RUN_ID, run, new)] == ["the run has the code None, which is not in the registry"]


def test_an_object_in_another_place_is_a_violation() -> None:
    names = [f"runs/{RUN_ID}/x", f"runs/{RUN_ID}/../other/x", "runs/other/x", "x"]
    assert len(list(verdict.of_objects(RUN_ID, names))) == 3
