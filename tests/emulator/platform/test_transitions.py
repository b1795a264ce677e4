"""What people are told of a change."""

from typing import Any

from google.cloud.firestore_v1._helpers import encode_dict

from emulator.firestore.changes import Change
from emulator.firestore.wire import Document
from emulator.platform import Platform
from emulator.platform.transitions import transitions
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import connected

NAME = "projects/p/databases/(default)/documents/flow_runs/r1"


def a_document(fields: dict[str, Any] | None) -> Document | None:
    if fields is None:
        return None
    encoded = encode_dict(fields)
    return Document(name=NAME, fields={name: value._pb for name, value in encoded.items()})


def told(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[str]:
    return list(transitions(Change(1, 1, NAME, a_document(before), a_document(after))))


def a_run(status: str, **steps: str) -> dict[str, Any]:
    return {"status": status, "steps": {name: {"status": step, "tries": 1} for name, step in steps.items()}}


def test_every_status_that_moves_is_told() -> None:
    before, after = (
        a_run("PENDING", candles="READY", charts="PENDING"),
        a_run("RUNNING", candles="RUNNING", charts="PENDING"),
    )
    assert told(before, after) == [
        "flow_runs/r1 status PENDING → RUNNING",
        "flow_runs/r1 steps.candles.status READY → RUNNING",
    ]


def test_a_new_document_tells_its_own_status_only() -> None:
    assert told(None, a_run("PENDING", candles="PENDING")) == ["flow_runs/r1 status (none) → PENDING"]
    assert told(a_run("DONE", candles="DONE"), None) == ["flow_runs/r1 status DONE → (none)"]


def test_a_step_that_comes_or_goes_is_told() -> None:
    assert told(a_run("RUNNING"), a_run("RUNNING", **{"odd name": "READY"})) == [
        "flow_runs/r1 steps.`odd name`.status (none) → READY"
    ]


def test_what_is_no_status_is_not_told() -> None:
    assert told({"v": 1, "statuses": "a"}, {"v": 2, "statuses": "b"}) == []
    assert told({"status": {"v": "a"}}, {"status": {"v": "b"}}) == []


def test_the_platform_tells_them_as_they_happen() -> None:
    with Platform() as platform, connected(platform.firestore.host, platform.project) as db:
        db.document("flow_runs/r1").set(a_run("RUNNING", candles="READY"))
        db.document("flow_runs/r1").update({"steps.candles.status": "RUNNING"})
        line = "flow_runs/r1 steps.candles.status READY → RUNNING"
        assert eventually(lambda: line in platform.log.lines("firestore"))
