"""The error of a call that nobody answered, with the code that the real adapter would give it."""

from __future__ import annotations

from flowcore.domain.errors import Code, NetworkError
from tests.chaos.twins.world import Call

_CODES = {
    "find": Code.GCS_READ_FAILED,
    "read": Code.GCS_READ_FAILED,
    "create": Code.GCS_WRITE_FAILED,
    "pay": Code.GEMINI_REQUEST_FAILED,
}


def silence(call: Call) -> NetworkError:
    return NetworkError(_CODES.get(call.method, Code.FIRESTORE_UNAVAILABLE), f"{call.method} {call.resource}: no reply")
