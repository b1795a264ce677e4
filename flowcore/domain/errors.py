"""Every error that Flowcore can name, once: its code, its class, its HTTP status and its words for people.

A failed step must tell three readers three different things: the orchestrator (try again?), a caller over HTTP
(which status?) and a person (what now?). If each place kept its own list they would drift apart, so there is one
registry, and whatever is raised anywhere is turned into a row of it by `classify`, which is total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar

MESSAGE_LIMIT = 500
# A server may ask for patience, not for eternity.
LONGEST_RETRY_AFTER = 3600


class Code(StrEnum):
    """The stable set. A code may be added; none is renamed or removed, because documents out there carry it."""

    FLOW_RUN_NOT_FOUND = "FLOW_RUN_NOT_FOUND"
    FLOW_RUN_INVALID = "FLOW_RUN_INVALID"
    INVALID_STEP_INPUTS = "INVALID_STEP_INPUTS"
    PROMPT_NOT_FOUND = "PROMPT_NOT_FOUND"
    LLM_PROFILE_INVALID = "LLM_PROFILE_INVALID"
    LLM_SAFETY_BLOCK = "LLM_SAFETY_BLOCK"
    INVALID_STRUCTURED_OUTPUT = "INVALID_STRUCTURED_OUTPUT"
    LEASE_EXPIRED = "LEASE_EXPIRED"
    NO_WORKER = "NO_WORKER"
    INTERNAL = "INTERNAL"
    FIRESTORE_CLAIM_FAILED = "FIRESTORE_CLAIM_FAILED"
    FIRESTORE_FINALIZE_FAILED = "FIRESTORE_FINALIZE_FAILED"
    FIRESTORE_UNAVAILABLE = "FIRESTORE_UNAVAILABLE"
    GCS_READ_FAILED = "GCS_READ_FAILED"
    GCS_WRITE_FAILED = "GCS_WRITE_FAILED"
    GEMINI_REQUEST_FAILED = "GEMINI_REQUEST_FAILED"
    RATE_LIMITED = "RATE_LIMITED"
    BQ_QUERY_FAILED = "BQ_QUERY_FAILED"
    CHART_API_FAILED = "CHART_API_FAILED"
    FLOW_NOT_FOUND = "FLOW_NOT_FOUND"
    FLOW_DEFINITION_INVALID = "FLOW_DEFINITION_INVALID"
    INVALID_REQUEST = "INVALID_REQUEST"
    IDEMPOTENCY_PAYLOAD_MISMATCH = "IDEMPOTENCY_PAYLOAD_MISMATCH"
    STEP_CLAIM_CONFLICT = "STEP_CLAIM_CONFLICT"
    STEP_FINALIZE_CONFLICT = "STEP_FINALIZE_CONFLICT"
    NO_READY_STEP = "NO_READY_STEP"
    DEPENDENCY_NOT_SUCCEEDED = "DEPENDENCY_NOT_SUCCEEDED"


class Kind(StrEnum):
    """How a code is treated. EITHER means that the error itself says whether another attempt may help."""

    NON_RETRYABLE = "non-retryable"
    RETRYABLE = "retryable"
    EITHER = "either"
    BENIGN = "benign"


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    http_status: int
    words: str


_FINAL, _RETRY, _EITHER, _BENIGN = Kind.NON_RETRYABLE, Kind.RETRYABLE, Kind.EITHER, Kind.BENIGN

REGISTRY: Mapping[Code, Entry] = MappingProxyType(
    {
        Code.FLOW_RUN_NOT_FOUND: Entry(_FINAL, 404, "There is no run with this id."),
        Code.FLOW_RUN_INVALID: Entry(_FINAL, 422, "The run document is broken; correct it and start a new run."),
        Code.INVALID_STEP_INPUTS: Entry(_FINAL, 422, "The step's inputs cannot be used as they are."),
        Code.PROMPT_NOT_FOUND: Entry(_FINAL, 422, "The prompt that the step names does not exist or is malformed."),
        Code.LLM_PROFILE_INVALID: Entry(_FINAL, 422, "The model settings of the step cannot be used."),
        Code.LLM_SAFETY_BLOCK: Entry(_FINAL, 422, "The model's safety filter blocked the request or its answer."),
        Code.INVALID_STRUCTURED_OUTPUT: Entry(_FINAL, 502, "The model's answer does not fit the required schema."),
        Code.LEASE_EXPIRED: Entry(_FINAL, 504, "The workers that took this step vanished before finishing it."),
        Code.NO_WORKER: Entry(_FINAL, 503, "No worker took this step; is its function deployed?"),
        Code.INTERNAL: Entry(_FINAL, 500, "Something unforeseen went wrong; the log has the trace."),
        Code.FIRESTORE_CLAIM_FAILED: Entry(_FINAL, 500, "Firestore refused the claim of the step."),
        Code.FIRESTORE_FINALIZE_FAILED: Entry(_FINAL, 500, "Firestore refused the result of the step."),
        Code.FIRESTORE_UNAVAILABLE: Entry(_RETRY, 503, "Firestore did not answer for a while."),
        Code.GCS_READ_FAILED: Entry(_RETRY, 503, "Cloud Storage did not deliver an object."),
        Code.GCS_WRITE_FAILED: Entry(_RETRY, 503, "Cloud Storage did not take the artifact."),
        Code.GEMINI_REQUEST_FAILED: Entry(_RETRY, 502, "The model did not answer."),
        Code.RATE_LIMITED: Entry(_RETRY, 429, "A quota is used up; it will be tried again later."),
        Code.BQ_QUERY_FAILED: Entry(_EITHER, 502, "The BigQuery query failed."),
        Code.CHART_API_FAILED: Entry(_EITHER, 502, "The chart service failed."),
        Code.FLOW_NOT_FOUND: Entry(_FINAL, 404, "There is no flow of this name."),
        Code.FLOW_DEFINITION_INVALID: Entry(_FINAL, 422, "The flow's definition cannot be made into a run."),
        Code.INVALID_REQUEST: Entry(_FINAL, 400, "The request cannot be understood."),
        Code.IDEMPOTENCY_PAYLOAD_MISMATCH: Entry(_FINAL, 409, "This key has started another run."),
        Code.STEP_CLAIM_CONFLICT: Entry(_BENIGN, 409, "Another worker took the step first."),
        Code.STEP_FINALIZE_CONFLICT: Entry(_BENIGN, 409, "Another worker has already recorded the step."),
        Code.NO_READY_STEP: Entry(_BENIGN, 409, "There is nothing to do for this worker now."),
        Code.DEPENDENCY_NOT_SUCCEEDED: Entry(_BENIGN, 409, "A step that this one needs did not succeed."),
    }
)


def may_retry(code: str, said: bool | None) -> bool:
    """Whether an error may be tried again automatically; `said` is what the error itself claims, if anything.

    The registry can veto (INVALID_STRUCTURED_OUTPUT is never run again, whatever a document says), the error can
    decline, and a code that this version does not know is believed: a newer worker may have written it.
    """
    if code not in REGISTRY:
        return bool(said)
    kind = REGISTRY[Code(code)].kind
    if kind in (Kind.NON_RETRYABLE, Kind.BENIGN):
        return False
    return (kind is Kind.RETRYABLE) if said is None else said


@dataclass(frozen=True, slots=True)
class StepError:
    """An error as data, the way it is persisted. `code` is open text: a newer version may have written it."""

    code: str
    message: str
    retryable: bool = False
    details: Mapping[str, object] | None = None

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server asked us to wait, if it did."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            return None
        return float(min(seconds, LONGEST_RETRY_AFTER))


class StepFailed(Exception):
    """A failure with a stable code. The message says what, where and what next, and goes to people as it is."""

    retryable_by_nature: ClassVar[bool | None] = None

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        retryable: bool | None = None,
        details: Mapping[str, object] | None = None,
        outputs: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.outputs = outputs or {}  # pointers to evidence that the attempt left behind
        self.error = StepError(
            code=code,
            message=one_line(message) or REGISTRY[code].words,
            retryable=may_retry(code, self.retryable_by_nature if retryable is None else retryable),
            details=details or None,
        )


class ConfigurationError(StepFailed):
    """Something is set up wrongly; trying again changes nothing."""

    retryable_by_nature = False


class ValidationError(StepFailed):
    """The input cannot be used; trying again changes nothing."""

    retryable_by_nature = False


class AuthenticationError(StepFailed):
    """We are not allowed to; an operator has to act first."""

    retryable_by_nature = False


class DataNotFoundError(StepFailed):
    """Something that the step refers to does not exist."""

    retryable_by_nature = False


class NetworkError(StepFailed):
    """The other side did not answer, or not in time. It may or may not have done what we asked."""

    retryable_by_nature = True


def classify(exc: Exception) -> StepError:
    """Whatever is raised has a code. The text of a foreign exception is not ours to publish: it may hold secrets."""
    if isinstance(exc, StepFailed):
        return exc.error
    message = one_line(f"unexpected {type(exc).__name__}; the log has the trace")
    return StepError(Code.INTERNAL, message)


def one_line(text: str) -> str:
    """Fit for a person's screen and a document field: one line, bounded."""
    line = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


def shown(value: object) -> str:
    """A value from a document as it may stand in a message: short, and never more than its type if it is no text."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:59] + "…")
    return "nothing" if value is None else f"a {type(value).__name__}"
