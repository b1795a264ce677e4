"""One registry: whatever goes wrong has one code, one class, and words that give nothing away."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.domain.errors import (
    MESSAGE_LIMIT,
    REGISTRY,
    AuthenticationError,
    Code,
    ConfigurationError,
    DataNotFoundError,
    Kind,
    NetworkError,
    StepError,
    StepFailed,
    ValidationError,
    classify,
    may_retry,
    one_line,
)

# Documents out there carry these: a code may be added, none is renamed, removed or treated otherwise.
STABLE = {
    Kind.NON_RETRYABLE: "FLOW_RUN_NOT_FOUND FLOW_RUN_INVALID INVALID_STEP_INPUTS PROMPT_NOT_FOUND LLM_PROFILE_INVALID "
    "LLM_SAFETY_BLOCK INVALID_STRUCTURED_OUTPUT LEASE_EXPIRED NO_WORKER INTERNAL FIRESTORE_CLAIM_FAILED "
    "FIRESTORE_FINALIZE_FAILED",
    Kind.RETRYABLE: "FIRESTORE_UNAVAILABLE GCS_READ_FAILED GCS_WRITE_FAILED GEMINI_REQUEST_FAILED RATE_LIMITED",
    Kind.EITHER: "BQ_QUERY_FAILED CHART_API_FAILED",
    Kind.BENIGN: "STEP_CLAIM_CONFLICT STEP_FINALIZE_CONFLICT NO_READY_STEP DEPENDENCY_NOT_SUCCEEDED",
}


@pytest.mark.parametrize("kind", Kind)
def test_codes_of_a_class_stay_in_it(kind: Kind) -> None:
    assert {code for code in STABLE[kind].split() if REGISTRY[Code(code)].kind is kind} == set(STABLE[kind].split())


def test_every_code_has_exactly_one_entry() -> None:
    assert set(REGISTRY) == set(Code)


@pytest.mark.parametrize("code", Code)
def test_entry_serves_all_three_readers(code: Code) -> None:
    entry = REGISTRY[code]
    assert re.fullmatch(r"[A-Z][A-Z0-9_]+", code)
    assert 400 <= entry.http_status <= 599
    assert entry.words.endswith((".", "?"))
    assert one_line(entry.words) == entry.words


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (Code.GEMINI_REQUEST_FAILED, None, True),
        (Code.GEMINI_REQUEST_FAILED, True, True),
        (Code.GEMINI_REQUEST_FAILED, False, False),
        (Code.BQ_QUERY_FAILED, None, False),
        (Code.BQ_QUERY_FAILED, True, True),
        (Code.BQ_QUERY_FAILED, False, False),
        (Code.INVALID_STRUCTURED_OUTPUT, True, False),
        (Code.LLM_SAFETY_BLOCK, True, False),
        (Code.LEASE_EXPIRED, True, False),
        (Code.DEPENDENCY_NOT_SUCCEEDED, True, False),
        ("A_CODE_FROM_THE_FUTURE", None, False),
        ("A_CODE_FROM_THE_FUTURE", True, True),
        ("A_CODE_FROM_THE_FUTURE", False, False),
    ],
)
def test_registry_vetoes_and_the_error_declines(code: str, said: bool | None, expected: bool) -> None:
    assert may_retry(code, said) is expected


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        (ConfigurationError, False),
        (ValidationError, False),
        (AuthenticationError, False),
        (DataNotFoundError, False),
        (NetworkError, True),
    ],
)
def test_hierarchy_decides_about_retries(kind: type[StepFailed], retryable: bool) -> None:
    """For a code that can be either; a code that never is, is not even for a network's sake."""
    assert kind(Code.CHART_API_FAILED, "words").error.retryable is retryable
    assert kind(Code.INVALID_STEP_INPUTS, "words").error.retryable is False
    assert issubclass(kind, StepFailed)


def test_error_itself_overrides_its_family() -> None:
    assert NetworkError(Code.GCS_WRITE_FAILED, "words", retryable=False).error.retryable is False
    assert StepFailed(Code.GCS_WRITE_FAILED, "words").error.retryable is True
    assert StepFailed(Code.BQ_QUERY_FAILED, "words").error.retryable is False


def test_failure_of_ours_keeps_what_it_says() -> None:
    failure = StepFailed(Code.RATE_LIMITED, "quota of\n model-x", details={"retryAfterSeconds": 3})
    assert classify(failure) == StepError(Code.RATE_LIMITED, "quota of model-x", True, {"retryAfterSeconds": 3})


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even asking hurts")

    __repr__ = __str__


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("token=hunter2"),
        KeyError("hunter2"),
        Hostile("hunter2"),
        ExceptionGroup("hunter2", [ValueError("hunter2")]),
        UnicodeDecodeError("utf-8", b"hunter2", 0, 1, "hunter2"),
        RecursionError("hunter2"),
        OSError(5, "hunter2", "/etc/hunter2"),
        type("Näme" * 200, (Exception,), {})("hunter2"),
        StopIteration("hunter2"),
    ],
    ids=lambda exc: type(exc).__name__[:20],
)
def test_whatever_is_raised_has_a_code_and_leaks_nothing(exc: Exception) -> None:
    error = classify(exc)
    assert (error.code, error.retryable) == (Code.INTERNAL, False)
    assert "hunter2" not in f"{error.message} {error.details}"
    assert 0 < len(error.message) <= MESSAGE_LIMIT


@given(st.text(st.characters(codec=None), max_size=2000))
def test_message_is_one_bounded_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= MESSAGE_LIMIT
    assert len(line.splitlines()) <= 1
    assert one_line(line) == line


def test_details_are_an_object_or_absent() -> None:
    assert StepFailed(Code.INTERNAL, "words", details={}).error.details is None


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        (None, None),
        ({}, None),
        ({"retryAfterSeconds": 17.5}, 17.5),
        ({"retryAfterSeconds": 3}, 3.0),
        ({"retryAfterSeconds": True}, None),
        ({"retryAfterSeconds": "17"}, None),
    ],
)
def test_wish_for_patience_is_a_number(details: dict[str, object] | None, seconds: float | None) -> None:
    assert StepError(Code.RATE_LIMITED, "429", True, details).retry_after == seconds
