"""Whose an event is: decided by its attributes alone, without a call."""

from collections.abc import Callable

import pytest

from flowcore.domain.model import Snapshot
from flowcore.engine.event import FlowEvent, Ignored, parse_event, received
from flowcore.testing.builders import RUN_ID, a_run, a_snapshot
from flowcore.testing.world import MemoryLog

FIRESTORE = "google.cloud.firestore.document.v1"


def never(run_id: str, data: object) -> Snapshot | None:
    raise AssertionError("nothing of a foreign event is worth decoding")


def attributes(**changed: object) -> dict[str, object]:
    return {"id": "e-1", "type": f"{FIRESTORE}.written", "subject": f"documents/flow_runs/{RUN_ID}", **changed}


def parse(decode: Callable[[str, object], Snapshot | None], **changed: object) -> FlowEvent | Ignored:
    return parse_event(attributes(**changed), b"payload", "flow_runs", decode)


@pytest.mark.parametrize("change", ["created", "updated", "written"])
def test_every_write_of_a_run_is_ours(change: str) -> None:
    event = parse(lambda run_id, data: None, type=f"{FIRESTORE}.{change}")
    assert event == FlowEvent("e-1", RUN_ID, None)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"type": f"{FIRESTORE}.deleted"}, "event_type_filtered"),
        ({"type": "google.cloud.storage.object.v1.finalized"}, "event_type_filtered"),
        ({"type": None}, "event_type_filtered"),
        ({"subject": f"documents/prompts/{RUN_ID}"}, "other_collection"),
        ({"subject": "flow_runs"}, "invalid_subject"),
        ({"subject": ""}, "invalid_subject"),
        ({"subject": None}, "invalid_subject"),
        ({"subject": f"documents/flow_runs/{RUN_ID}/logs/1"}, "invalid_subject"),
        ({"subject": f"documents/flow_runs/{RUN_ID}\n"}, "invalid_run_id"),
        ({"subject": f"x/documents/flow_runs/{RUN_ID}"}, "invalid_subject"),
        ({"subject": "documents/flow_runs/.."}, "invalid_run_id"),
        ({"subject": "documents/flow_runs/-x"}, "invalid_run_id"),
        ({"subject": "documents/flow_runs/" + "x" * 129}, "invalid_run_id"),
        ({"subject": "documents/flow_runs/ü"}, "invalid_run_id"),
    ],
)
def test_foreign_event_is_ignored_with_its_reason(changed: dict[str, object], reason: str) -> None:  # B22
    assert parse(never, **changed) == Ignored("e-1", reason)


def test_payload_is_decoded_with_the_run_it_belongs_to() -> None:
    snapshot = a_snapshot(a_run())
    asked: list[tuple[str, object]] = []

    def decode(run_id: str, data: object) -> Snapshot:
        asked.append((run_id, data))
        return snapshot

    assert parse(decode) == FlowEvent("e-1", RUN_ID, snapshot)
    assert asked == [(RUN_ID, b"payload")]


def test_payload_of_another_document_is_not_trusted() -> None:
    stranger = a_snapshot(a_run(run_id="another"), "another")
    assert parse(lambda run_id, data: stranger) == FlowEvent("e-1", RUN_ID, None)


def test_foreign_event_is_one_log_line_and_nothing_else() -> None:
    log = MemoryLog()
    assert received(Ignored("e-1", "other_collection"), log) is None
    assert log.lines == [("INFO", "event_ignored", {"event_id": "e-1", "reason": "other_collection"})]


def test_event_of_ours_is_handed_on_without_a_word() -> None:
    log, event = MemoryLog(), FlowEvent("e-1", RUN_ID, None)
    assert received(event, log) is event
    assert not log.lines


def test_event_without_an_id_is_still_an_event() -> None:
    event = parse_event(
        {"type": f"{FIRESTORE}.written", "subject": f"documents/flow_runs/{RUN_ID}"},
        None,
        "flow_runs",
        lambda run_id, data: None,
    )
    assert event == FlowEvent("", RUN_ID, None)
