"""CloudEvents that are cut, mixed up, somebody else's, or no events at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from google.events.cloud.firestore import DocumentEventData

from flowcore.adapters.firestore_events import decode
from flowcore.engine.event import Ignored, parse_event
from flowcore.testing.builders import RUN_ID
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.twin import COLLECTION, DOCUMENTS, encoded

TYPE: Final = "google.cloud.firestore.document.v1.written"
ANOTHER: Final = "another-run"  # is there, too, and at its end
SUBJECT: Final = f"documents/flow_runs/{RUN_ID}"
NOW: Final = 1_766_534_400  # seconds; when the twins began to write
_Data: Final[Any] = DocumentEventData.pb()


@dataclass(frozen=True, slots=True)
class Event:
    attributes: dict[str, Any]
    data: Any
    odd: bool


def strange_event(hostile: Hostile, document: dict[str, Any]) -> Event:
    """One event; what is wrong with it, besides the document that it tells of, is the seed's choice."""
    make = hostile.chance.weighted(_KINDS)
    return make(hostile, document)


def understood(event: Event) -> str:
    """What flowcore makes of it, before it looks at anything else."""
    parsed = parse_event(event.attributes, event.data, COLLECTION, decode)
    if isinstance(parsed, Ignored):
        return parsed.reason
    return "a document to decide on" if parsed.snapshot else "no document: it is read"


def _only_the_document(hostile: Hostile, document: dict[str, Any]) -> Event:
    """Whatever it tells of is believed at first: it is somebody's document, and not as it is now."""
    whose = ANOTHER if hostile.likely(0.15) else RUN_ID
    own = {**document, "runId": whose} if document.get("runId") == RUN_ID else document
    return Event(_about(f"documents/flow_runs/{whose}"), _payload(whose, own).SerializeToString(), odd=True)


def _of_another_collection(hostile: Hostile, document: dict[str, Any]) -> Event:
    collection = hostile.one(("flow_definitions", "llm_prompts", "flow_runs_old", "FLOW_RUNS", "flow_runs ", "é"))
    data = _payload(RUN_ID, document).SerializeToString()
    return Event(_about(f"documents/{collection}/{hostile.one((RUN_ID, ANOTHER))}"), data, odd=True)


def _with_odd_attributes(hostile: Hostile, document: dict[str, Any]) -> Event:
    good = _about(SUBJECT)
    odd = {
        "id": hostile.one(("", "\x00", "e" * 10_000, None, 7, hostile.text())),
        "type": hostile.one((*_TYPES, hostile.text(), None)),
        "subject": hostile.one((*_SUBJECTS, f"documents/flow_runs/{hostile.text()}", hostile.text(), None, 7)),
    }
    changed = {name: odd[name] if hostile.likely(0.4) else value for name, value in good.items()}
    attributes = {name: value for name, value in changed.items() if hostile.likely(0.9)}
    data, is_odd = _told(hostile, document)
    return Event(attributes, data, is_odd or attributes != good)


def _with_odd_data(hostile: Hostile, document: dict[str, Any]) -> Event:
    good, odd = _told(hostile, document)
    data = _damaged(hostile, good)
    return Event(_about(SUBJECT), data, odd or data != good)


def _saying_odd_things_of_itself(hostile: Hostile, document: dict[str, Any]) -> Event:
    return Event(_about(SUBJECT), *_told(hostile, document))


_KINDS: Final[dict[Callable[[Hostile, dict[str, Any]], Event], float]] = {
    _only_the_document: 50,
    _with_odd_data: 20,
    _with_odd_attributes: 15,
    _saying_odd_things_of_itself: 10,
    _of_another_collection: 5,
}


def _about(subject: str) -> dict[str, Any]:
    return {"id": "e-1", "type": TYPE, "subject": subject}


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
    *("documents/flow_runs/nobody", f"documents/flow_runs/{'x' * 5000}", f"documents/flow_runs/{ANOTHER}"),
)


def _damaged(hostile: Hostile, good: bytes) -> Any:
    match hostile.chance.randrange(6):
        case 0:
            return hostile.one((None, "", b"", "text", {}, {"value": {}}, [], 7, b"\x00" * 100_000))
        case 1 | 2:
            return good[: hostile.chance.randrange(len(good) + 1)]
        case 3:
            return hostile.chance.randbytes(hostile.chance.randrange(300))
        case 4:
            return hostile.noisy(good)
        case _:
            return b"\x0a" * hostile.one((10, 500, 5000)) + good


def _payload(name: str, document: dict[str, Any]) -> Any:
    data = _Data()
    data.value.MergeFromString(encoded(f"{DOCUMENTS}/flow_runs/{name}", document).SerializeToString())
    data.value.update_time.seconds = NOW
    return data


def _told(hostile: Hostile, document: dict[str, Any]) -> tuple[bytes, bool]:
    """A payload in order, but for what it says of itself; and whether that is odd."""
    name = hostile.one((RUN_ID, RUN_ID, RUN_ID, ANOTHER, "..", ""))
    data = _payload(name, document)
    good = data.SerializeToString(deterministic=True)
    moment = data.value.update_time
    if hostile.likely(0.2):
        data.value.ClearField("update_time")
    elif hostile.likely(0.5):
        moment.seconds = hostile.one((NOW, 0, 1, -(2**40), 2**62, -(2**63), 253_402_300_799))
        moment.nanos = hostile.one((0, 1, 999_999_999, -1, 2**31 - 1))
    if hostile.likely(0.2):
        data.value.fields[hostile.key()].timestamp_value.seconds = hostile.one((2**62, -(2**62), 10**15))
    if hostile.likely(0.1):
        _nest(data.value.fields["deep"], hostile.one((30, 90, 99, 120)))
    if hostile.likely(0.1):
        data.value.fields["utf"].string_value = hostile.text()
    told: bytes = data.SerializeToString(deterministic=True)
    return told, name != RUN_ID or told != good


def _nest(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = value.map_value.fields["a"]
    value.null_value = 0
