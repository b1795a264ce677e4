"""Instants as documents hold them: RFC 3339 in UTC, exact to the microsecond, readable by people.

Only `wakeAt` is a Firestore Timestamp, because it is queried; everything else is text that anybody can read.
"""

from __future__ import annotations

from datetime import UTC, datetime

# Outside of these years a time is a slip of somebody's pen, and adding a timeout to it could overflow.
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


def to_text(moment: datetime) -> str:
    """`2025-12-24T12:00:00Z`; a fraction only where there is one, so that the value survives the round trip."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_value(value: object) -> datetime | None:
    """A Timestamp, or RFC 3339 text with an offset, as an instant; None when it is neither."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime) and moment.tzinfo and _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            return moment.astimezone(UTC)
    except ValueError:
        pass  # not a time; the caller knows the field's name and says so
    return None
