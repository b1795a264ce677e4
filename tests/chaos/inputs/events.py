"""CloudEvents that are cut, mixed up, somebody else's, or no events at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.events.cloud.firestore import DocumentEventData

from flowcore.testing.builders import RUN_ID
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.twin import DOCUMENTS, encoded

TYPE: Final = "google.cloud.firestore.document.v1.written"
SUBJECT: Final = f"documents/flow_runs/{RUN_ID}"
_Data: Final[Any] = DocumentEventData.pb()


@dataclass(frozen=True, slots=True)
class Event:
    attributes: dict[str, Any]
    data: Any
    odd: bool


def strange_event(hostile: Hostile, document: dict[str, Any]) -> Event:
    good: dict[str, Any] = {"id": "e-1", "type": TYPE, "subject": SUBJECT}
    attributes = _odd_attributes(hostile, good) if hostile.likely(0.4) else good
    told, odd = _told(hostile, document)
    data = _odd_data(hostile, told)
    return Event(attributes, data, odd or data != told or attributes != good)


def _odd_attributes(hostile: Hostile, good: dict[str, Any]) -> dict[str, Any]:
    odd = {
        "id": hostile.one(("", "\x00", "e" * 10_000, None, 7, hostile.text())),
        "type": hostile.one((*_TYPES, hostile.text(), None)),
        "subject": hostile.one((*_SUBJECTS, f"documents/flow_runs/{hostile.text()}", hostile.text(), None, 7)),
    }
    changed = {name: odd[name] if hostile.likely(0.4) else value for name, value in good.items()}
    return {name: value for name, value in changed.items() if hostile.likely(0.9)}


_TYPES: Final = (
    *("google.cloud.firestore.document.v1.deleted", "google.cloud.firestore.document.v1.created", TYPE.upper()),
    *("google.cloud.firestore.document.v1.written.withAuthContext", "google.cloud.storage.object.v1.finalized", ""),
)
_SUBJECTS: Final = (
    *(
        f"documents/flow_definitions/{RUN_ID}",
        f"documents/flow_runs/{RUN_ID}/logs/1",
        "documents/flow_runs",
        "documents/",
    ),
    *("documents/flow_runs/", f"flow_runs/{RUN_ID}", f"documents//{RUN_ID}", "documents/flow_runs/..", f"{SUBJECT}\n"),
    *("documents/flow_runs/nobody", f"documents/flow_runs/{'x' * 5000}", "documents/flow_runs/another-run"),
)


def _odd_data(hostile: Hostile, good: bytes) -> Any:
    match hostile.chance.randrange(8):
        case 0:
            return hostile.one((None, "", b"", "text", {}, {"value": {}}, [], 7, b"\x00" * 100_000))
        case 1:
            return good[: hostile.chance.randrange(len(good) + 1)]
        case 2:
            return hostile.chance.randbytes(hostile.chance.randrange(300))
        case 3 | 4:
            return hostile.noisy(good)
        case 5:
            return b"\x0a" * hostile.one((10, 500, 5000)) + good
        case _:
            return good


def _told(hostile: Hostile, document: dict[str, Any]) -> tuple[bytes, bool]:
    """A payload in order, but for what it says of itself; and whether that is odd."""
    name = hostile.one((RUN_ID, RUN_ID, RUN_ID, "another-run", "..", ""))
    odd = name != RUN_ID
    data = _Data()
    data.value.MergeFromString(encoded(f"{DOCUMENTS}/flow_runs/{name}", document).SerializeToString())
    if hostile.likely(0.8):
        data.value.update_time.seconds = hostile.one((1_766_534_400, 0, 1, -(2**40), 2**62, -(2**63), 253_402_300_799))
        data.value.update_time.nanos = hostile.one((0, 1, 999_999_999, -1, 2**31 - 1))
    moment = data.value.update_time
    odd |= moment.seconds != 1_766_534_400 or not 0 <= moment.nanos < 10**9
    if hostile.likely(0.2):
        odd = True
        data.value.fields[hostile.key()].timestamp_value.seconds = hostile.one((2**62, -(2**62), 10**15))
    if hostile.likely(0.1):
        odd = True
        _nest(data.value.fields["deep"], hostile.one((30, 90, 99, 120)))
    if hostile.likely(0.1):
        odd = True
        data.value.fields["utf"].string_value = hostile.text()
    return data.SerializeToString(deterministic=True), odd


def _nest(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = value.map_value.fields["a"]
    value.null_value = 0
