"""What Firestore says and what it becomes, each provoked on the wire. The table stands in spec/errors.md."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from google.cloud import firestore

from emulator.faults import Fault, delay, drop, drop_after, hang, refuse, status
from emulator.platform import Platform
from flowcore.adapters.firestore import FirestoreDocuments, FirestoreRuns
from flowcore.domain.errors import AuthenticationError, Code, ConfigurationError, NetworkError, StepFailed
from flowcore.domain.patch import Patch
from flowcore.ports import Conflict, DocumentFull
from flowcore.testing.world import T0
from tests.emulator.platform.sockets import a_free_base
from tests.ports.conftest import COLLECTION

SILENT = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "CANCELLED"]
REFUSALS = {
    "PERMISSION_DENIED": AuthenticationError,
    "UNAUTHENTICATED": AuthenticationError,
    "INVALID_ARGUMENT": ConfigurationError,
    "UNIMPLEMENTED": ConfigurationError,
}
LOST = ["FAILED_PRECONDITION", "ABORTED", "ALREADY_EXISTS", "NOT_FOUND"]  # by an update; a creation loses to one alone


@dataclass(frozen=True)
class Way:
    """One call of the adapters, and its name on the wire."""

    method: str
    call: Callable[[FirestoreRuns, FirestoreDocuments], object]


READS = {
    "runs.get": Way("BatchGetDocuments", lambda runs, _: runs.get("r1")),
    "documents.find": Way("BatchGetDocuments", lambda _, documents: documents.find("prompts/p1")),
}
WRITES = {
    "runs.update": Way("Commit", lambda runs, _: runs.update("r1", Patch({"n": 1}), T0)),
    "documents.create": Way("Commit", lambda _, documents: documents.create("prompts/p1", {"n": 1})),
    "documents.update": Way("Commit", lambda _, documents: documents.update("prompts/p1", {"n": 1}, T0)),
}
QUERIES = {
    "runs.due": Way("RunQuery", lambda runs, _: list(runs.due(T0))),
    "runs.unfinished": Way("RunQuery", lambda runs, _: list(runs.unfinished())),
}


@pytest.fixture
def meet(
    platform: Platform, wire_runs: FirestoreRuns, wire_documents: FirestoreDocuments
) -> Callable[[Way, Fault], object]:
    """Make a call that meets a fault, once: nothing is tried again down here."""

    def make(way: Way, fault: Fault) -> object:
        planned = platform.faults.add(service="firestore", method=way.method, action=fault)
        try:
            return way.call(wire_runs, wire_documents)
        finally:
            assert planned.fired == platform.faults.calls.count("firestore", way.method) == 1

    return make


def assert_error(failure: StepFailed, *, retryable: bool, says: str) -> None:
    assert failure.error.code == Code.FIRESTORE_UNAVAILABLE
    assert failure.error.retryable is retryable
    assert says in failure.error.message
    assert "by request of the test" not in failure.error.message  # the server's own words may hold anything


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("way", READS | WRITES)
def test_silence_is_a_network_error(meet: Callable[[Way, Fault], object], way: str, name: str) -> None:
    with pytest.raises(NetworkError) as silence:
        meet((READS | WRITES)[way], status(name))
    assert_error(silence.value, retryable=True, says=name)


@pytest.mark.parametrize("fault", [refuse(), drop(), drop_after()], ids=["refused", "dropped", "reply lost"])
@pytest.mark.parametrize("way", READS | WRITES)
def test_a_connection_that_ends_is_a_network_error(
    meet: Callable[[Way, Fault], object], way: str, fault: Fault
) -> None:
    with pytest.raises(NetworkError) as silence:
        meet((READS | WRITES)[way], fault)
    assert_error(silence.value, retryable=True, says="UNAVAILABLE")


@pytest.mark.parametrize("way", READS | WRITES)
def test_a_wish_of_the_server_is_passed_on(meet: Callable[[Way, Fault], object], way: str) -> None:
    with pytest.raises(NetworkError) as silence:
        meet((READS | WRITES)[way], status("RESOURCE_EXHAUSTED", retry_after=1.5))
    assert silence.value.error.details == {"retryAfterSeconds": 1.5}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("way", READS | WRITES | QUERIES)
def test_a_refusal_is_not_tried_again(meet: Callable[[Way, Fault], object], way: str, name: str) -> None:
    with pytest.raises(REFUSALS[name]) as refused:
        meet((READS | WRITES | QUERIES)[way], status(name))
    assert_error(refused.value, retryable=False, says=name)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        *((way, name) for way in ("runs.update", "documents.update") for name in LOST),
        ("documents.create", "ALREADY_EXISTS"),
    ],
)
def test_a_write_that_came_too_late_is_a_conflict(meet: Callable[[Way, Fault], object], way: str, name: str) -> None:
    with pytest.raises(Conflict):
        meet(WRITES[way], status(name))


def test_a_write_that_finds_no_room_is_told_apart_and_one_that_shrinks_still_lands(
    database: firestore.Client, wire_runs: FirestoreRuns
) -> None:
    run = database.collection(COLLECTION).document("brim")
    there: Any = run.set({"status": "PENDING", "note": "x" * (2**20 - 100 - len(COLLECTION) - len("brim"))})
    with pytest.raises(DocumentFull):
        wire_runs.update("brim", Patch({"error": "y" * 100}), there.update_time)
    wire_runs.update("brim", Patch({"status": "FAILED"}), there.update_time)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ABORTED", NetworkError), ("NOT_FOUND", ConfigurationError), ("FAILED_PRECONDITION", ConfigurationError)],
)
def test_a_creation_that_lost_to_nobody_is_no_conflict(
    meet: Callable[[Way, Fault], object], name: str, kind: type[StepFailed]
) -> None:
    """Who is told of a conflict believes that the document is there."""
    with pytest.raises(kind) as failure:
        meet(WRITES["documents.create"], status(name))
    assert_error(failure.value, retryable=kind is NetworkError, says=name)


@pytest.mark.parametrize(("name", "advice"), [("NOT_FOUND", "database"), ("FAILED_PRECONDITION", "indexes")])
@pytest.mark.parametrize("way", READS | QUERIES)
def test_a_read_has_no_race_to_lose(meet: Callable[[Way, Fault], object], way: str, name: str, advice: str) -> None:
    """A missing database, or a missing index, must not look like a race that is lost for ever."""
    with pytest.raises(ConfigurationError) as refused:
        meet((READS | QUERIES)[way], status(name))
    assert_error(refused.value, retryable=False, says=name)
    assert advice in refused.value.error.message


@pytest.mark.parametrize("way", READS)
def test_a_read_that_is_aborted_is_silence(meet: Callable[[Way, Fault], object], way: str) -> None:
    with pytest.raises(NetworkError):
        meet(READS[way], status("ABORTED"))


@pytest.mark.parametrize("way", QUERIES)
def test_a_query_that_meets_silence_is_asked_again(platform: Platform, wire_runs: FirestoreRuns, way: str) -> None:
    silent = platform.faults.add(service="firestore", method="RunQuery", action=status(503), times=1)
    assert QUERIES[way].call(wire_runs, FirestoreDocuments(firestore.Client())) == []
    assert silent.fired == 1


@pytest.mark.parametrize("fault", [hang(30), delay(30)], ids=["hangs", "slow"])
@pytest.mark.parametrize("way", ["get", "update"])
def test_a_call_ends_when_its_time_is_up(platform: Platform, wire_runs: FirestoreRuns, way: str, fault: Fault) -> None:
    platform.faults.add(service="firestore", action=fault)
    began = time.monotonic()
    with pytest.raises(NetworkError) as silence:
        wire_runs.get("r1", 0.2) if way == "get" else wire_runs.update("r1", Patch({"n": 1}), T0, 0.2)
    assert 0.15 < time.monotonic() - began < 2
    assert_error(silence.value, retryable=True, says="DEADLINE_EXCEEDED")


def test_a_server_that_is_not_there_is_silence(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{a_free_base(1)}")
    began = time.monotonic()
    with pytest.raises(NetworkError) as silence:
        FirestoreRuns(firestore.Client(), COLLECTION).get("r1", 5)
    assert time.monotonic() - began < 6
    assert_error(silence.value, retryable=True, says="UNAVAILABLE")


def test_a_write_whose_reply_was_lost_is_not_repeated(
    platform: Platform, database: firestore.Client, wire_runs: FirestoreRuns
) -> None:
    """The library alone would repeat it, and report its own success as a failed precondition."""
    database.document(COLLECTION, "r1").set({"n": 1})
    before = wire_runs.get("r1")
    assert before is not None
    lost = platform.faults.add(service="firestore", method="Commit", action=status(503, applied=True))
    with pytest.raises(NetworkError):
        wire_runs.update("r1", Patch({"n": 2}), before.update_time)
    after = wire_runs.get("r1")
    assert after is not None
    assert (lost.fired, after.document) == (1, {"n": 2})
