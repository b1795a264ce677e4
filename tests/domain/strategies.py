"""Runs and documents by chance: sound graphs in any state at any time, and garbage of any kind."""

import copy
import random
from datetime import datetime, timedelta

from hypothesis import strategies as st

from flowcore.domain.times import to_text
from flowcore.testing.world import T0

STATUSES = ("PENDING", "READY", "RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")
RUN_STATUSES = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")
CODES = (
    "GEMINI_REQUEST_FAILED",
    "BQ_QUERY_FAILED",
    "RATE_LIMITED",
    "INVALID_STEP_INPUTS",
    "INVALID_STRUCTURED_OUTPUT",
    "LEASE_EXPIRED",
    "DEPENDENCY_NOT_SUCCEEDED",
    "A_CODE_FROM_THE_FUTURE",
)
OFFSETS = [0, 1, -1, 60, -60, 300, -300, 600, -600, 841, -841, 3600, -3600, 90_000, -90_000]
_MOMENTS = [T0 + timedelta(seconds=offset, microseconds=more) for more in (0, 1, 999_999) for offset in OFFSETS]


MOMENTS = st.sampled_from(_MOMENTS)


def moments() -> st.SearchStrategy[datetime]:
    return MOMENTS


def _a_step(chance: random.Random) -> dict[str, object]:
    """A step in any state. Usually with what belongs to it; sometimes with less, as old versions left it."""

    def a_time() -> str:
        return to_text(chance.choice(_MOMENTS))

    def an_error() -> dict[str, object]:
        error: dict[str, object] = {"code": chance.choice(CODES), "message": "words"}
        if chance.random() < 0.6:
            error["retryable"] = chance.random() < 0.7
        if chance.random() < 0.3:
            error["details"] = {"retryAfterSeconds": chance.choice([0, 30, 1e9, -5, "soon"])}
        return error

    status = chance.choice(STATUSES)
    belonging: dict[str, dict[str, object]] = {
        "PENDING": {"notBefore": a_time()},
        "RUNNING": {"startedAt": a_time(), "lease": {"token": chance.choice(["t1", "t2"]), "expiresAt": a_time()}},
        "SUCCEEDED": {"startedAt": a_time(), "finishedAt": a_time()},
        "FAILED": {"startedAt": a_time(), "finishedAt": a_time(), "error": an_error()},
        "SKIPPED": {"finishedAt": a_time(), "error": an_error()},
    }
    sometimes: dict[str, object] = {
        "optional": chance.random() < 0.7,
        "attempt": chance.randint(0, 12),
        "failures": chance.randint(0, 4),
        "leaseLosses": chance.randint(0, 4),
        "nudges": chance.randint(0, 6),
        "retry": {"maxAttempts": chance.randint(1, 4)},
        "readyAt": a_time(),
        **belonging.get(status, {}),
    }
    step = {key: value for key, value in sometimes.items() if chance.random() < 0.5}
    if status == "SUCCEEDED":
        step["outputs"] = {"gcs_uri": "gs://artifacts/x"}
    if status == "FAILED":
        step.setdefault("error", an_error())
    step_type = chance.choice(["HEATMAP", "LLM_REPORT", "DIGEST"])
    return {"stepType": step_type, "timeframe": "1M", "status": status, **step}


# Drawing whole steps from a catalogue, the plain ones first, is ten times faster than drawing field by field.
_CATALOGUE = sorted(map(_a_step, [random.Random(7)] * 1500), key=len)
_ENTRY = st.integers(0, len(_CATALOGUE) - 1)
_FLAG = st.sampled_from([None, True, False])
_WAKE_AT = st.one_of(st.none(), MOMENTS)
_FINISHED_AT = st.one_of(st.none(), MOMENTS.map(to_text))
_STATUS = st.sampled_from([*RUN_STATUSES, "RUNNING", "RUNNING", "RUNNING"])


@st.composite
def graphs(draw: st.DrawFn, least: int = 1, most: int = 8) -> dict[str, list[str]]:
    """Who depends on whom: any graph without a circle. The order of the names says nothing."""
    count = draw(st.integers(least, most))
    names = [f"s{(number * 7 + 3) % 53:02}" for number in range(count)]
    graph: dict[str, list[str]] = {}
    for position, name in enumerate(names):
        bits = draw(st.integers(0, 2**position - 1))
        graph[name] = [names[bit] for bit in range(position) if bits >> bit & 1][:3]
    return graph


@st.composite
def documents(draw: st.DrawFn) -> dict[str, object]:
    """Run documents that a kernel of some version may have left behind, or an operator."""
    graph = draw(graphs())
    steps = {name: {**_CATALOGUE[draw(_ENTRY)], "dependsOn": needs} for name, needs in graph.items()}
    extras = {
        "cancelRequested": draw(_FLAG),
        "wakeAt": draw(_WAKE_AT),
        "finishedAt": draw(_FINISHED_AT),
    }
    return {
        "status": draw(_STATUS),
        "steps": steps,
        **{key: value for key, value in extras.items() if value is not None},
    }


# --- garbage -------------------------------------------------------------------------------------------------

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None), max_size=8),
    st.sampled_from(["PENDING", "RUNNING", "FAILED", "s03", "s10", "2025-12-24T12:00:00Z", "\ud800"]),
    st.just("x").map(lambda letter: letter * 3000),
    st.binary(max_size=4),
    st.datetimes(),
    moments(),
)
_FIELDS = """runId status steps cancelRequested wakeAt finishedAt error scope stepType dependsOn optional timeframe
inputs outputs retry maxAttempts attempt failures leaseLosses nudges lease token expiresAt readyAt notBefore startedAt
attempts code message details retryable retryAfterSeconds s03 s10 gcs_uri a.b"""
_KEYS = st.one_of(st.sampled_from(_FIELDS.split()), st.text(st.characters(codec=None), max_size=4))
GARBAGE = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=5)),
    max_leaves=12,
)


@st.composite
def garbage_documents(draw: st.DrawFn) -> dict[str, object]:
    """A sound document in which some values were replaced by anything, at any depth."""
    document = copy.deepcopy(draw(documents()))
    for _ in range(draw(st.integers(1, 3))):
        target: dict[str, object] = document
        while True:
            inside = [value for value in target.values() if isinstance(value, dict)]
            if not inside or draw(st.booleans()):
                break
            target = draw(st.sampled_from(inside))
        target[draw(st.one_of(st.sampled_from([*target]) if target else _KEYS, _KEYS))] = draw(GARBAGE)
    return document
