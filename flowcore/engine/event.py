"""A Firestore event as the engine sees it: which run, and the document that the event brought along, if any.

Every write of a run wakes every function on its path, so most events are not for us. That is a value (`Ignored`), not
an exception, and it is decided without a single call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flowcore.domain.model import RUN_ID, Snapshot
from flowcore.ports import Log

_TYPES = tuple(f"google.cloud.firestore.document.v1.{change}" for change in ("created", "updated", "written"))
_SUBJECT = re.compile(r"documents/(?P<collection>[^/]+)/(?P<document>[^/]+)")


@dataclass(frozen=True, slots=True)
class FlowEvent:
    event_id: str
    run_id: str
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class Ignored:
    event_id: str
    reason: str


# Payloads are protobuf; whoever knows the SDK decodes them. None: there is no usable payload, read the document.
Decode = Callable[[str, object], Snapshot | None]


def parse_event(attributes: Mapping[str, object], data: object, collection: str, decode: Decode) -> FlowEvent | Ignored:
    """What a CloudEvent means to us. The subject alone decides whose it is; the payload is optional."""
    event_id = str(attributes.get("id", ""))
    if attributes.get("type") not in _TYPES:
        return Ignored(event_id, "event_type_filtered")
    subject = _SUBJECT.fullmatch(str(attributes.get("subject", "")))
    if subject is None:
        return Ignored(event_id, "invalid_subject")
    if subject["collection"] != collection:
        return Ignored(event_id, "other_collection")
    run_id = subject["document"]
    if not RUN_ID.fullmatch(run_id):
        return Ignored(event_id, "invalid_run_id")
    snapshot = decode(run_id, data)
    return FlowEvent(event_id, run_id, snapshot if snapshot and snapshot.run_id == run_id else None)


def received(parsed: FlowEvent | Ignored, log: Log) -> FlowEvent | None:
    """The event, if it is for us. If not, that is said once, and there is nothing else to do."""
    if isinstance(parsed, FlowEvent):
        return parsed
    log.info("event_ignored", event_id=parsed.event_id, reason=parsed.reason)
    return None
