"""What can go wrong in one call, as values.

A call has an effect and a reply, and between them lies the failure that costs money: done, but nobody was told. So a
fault names its moment, before the effect or after it; then it may wait; then it ends the call with a status, ends the
connection, ends the caller itself, or lets the call go on. What belongs to one service only (half a JSON document, a
duplicated event) is a shape, which that service knows how to make.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from emulator.faults.callers import Caller

Moment = Literal["before", "after"]
BEFORE: Final = "before"
AFTER: Final = "after"

# HTTP code → canonical name. Both faces of Google's APIs are spoken here: gRPC takes the name, JSON takes both.
CANONICAL: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
HTTP_CODES: Final = {name: code for code, name in CANONICAL.items() if code != 502} | {"ALREADY_EXISTS": 409}

SHAPES: Final[dict[str, frozenset[str]]] = {
    "chart_img": frozenset({"non_png", "truncated_png"}),
    "storage": frozenset({"truncated_body", "corrupted_body"}),
    "gemini": frozenset(
        {
            "truncated_json",
            "wrong_type",
            "missing_fields",
            "empty_candidates",
            "safety",
            "blocked_prompt",
            "max_tokens",
            "max_tokens_without_text",
            "empty_reply",
            "non_json",
            "code_fence",
        }
    ),
    "eventarc": frozenset({"duplicate", "triplicate", "reorder", "delay", "drop"}),
}


@dataclass(frozen=True, slots=True)
class Status:
    """An error reply: its HTTP code, its canonical name, and when the caller is told to come back."""

    code: int
    name: str
    message: str
    retry_after: float | None = None


class StatusReturned(Exception):
    """The call ends with this status instead of its own reply."""

    def __init__(self, status: Status) -> None:
        super().__init__(f"{status.code} {status.name}: {status.message}")
        self.status = status


class Disconnected(Exception):
    """The connection ends without a reply: reset at once when refused, closed otherwise."""

    def __init__(self, *, refused: bool = False) -> None:
        super().__init__("refused" if refused else "dropped")
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Fault:
    """One moment of trouble: wait, then end the call with `end`, or go on when there is none."""

    when: Moment = BEFORE
    wait: float = 0.0
    end: Status | Literal["drop", "refuse", "kill"] | None = None
    shape: str | None = None
    caller: Caller | None = None  # of a kill that was met: whom it ends

    def strike(self) -> None:
        """Raise what ends the call; nothing when it goes on. The waiting is the caller's."""
        match self.end:
            case Status() as end:
                raise StatusReturned(end)
            case "drop" | "refuse" | "kill":
                if self.caller:
                    self.caller.kill()
                raise Disconnected(refused=self.end == "refuse")


def status(
    code: int | str, message: str | None = None, *, retry_after: float | None = None, applied: bool = False
) -> Fault:
    """An error reply, by HTTP code or canonical name; `applied`: sent although the effect took place."""
    http, name = _spelled(code)
    words = message or f"{name} by request of the test"
    return Fault(when=AFTER if applied else BEFORE, end=Status(http, name, words, retry_after))


def refuse() -> Fault:
    """The connection is reset at once, as though nobody could listen. (Nobody listening at all: stop the server.)"""
    return Fault(end="refuse")


def drop() -> Fault:
    """The connection is closed, and nothing was done."""
    return Fault(end="drop")


def drop_after() -> Fault:
    """The connection is closed, and everything was done."""
    return Fault(when=AFTER, end="drop")


def kill(*, applied: bool = False) -> Fault:
    """The function that made the call dies at this moment, with its whole instance; `applied`: after the effect.

    It meets the calls of functions that the platform runs, and no others: a test that writes the same document is safe.
    """
    return Fault(when=AFTER if applied else BEFORE, end="kill")


def delay(seconds: float, then: Fault | None = None) -> Fault:
    """A slow call: it waits, and goes on, or meets the next trouble."""
    return replace(then or Fault(), wait=seconds)


def hang(seconds: float, *, applied: bool = False) -> Fault:
    """Silence on an open connection for that long; then it closes."""
    return delay(seconds, drop_after() if applied else drop())


def shape(name: str, seconds: float = 0.0) -> Fault:
    """A reply, or a delivery, that only one kind of service can get wrong in this way."""
    return Fault(shape=name, wait=seconds)


def _spelled(code: int | str) -> tuple[int, str]:
    if isinstance(code, int):
        return code, CANONICAL.get(code, "UNKNOWN")
    if code not in HTTP_CODES:
        raise ValueError(f"status {code!r} is not a canonical name; use one of: {', '.join(sorted(HTTP_CODES))}")
    return HTTP_CODES[code], code
