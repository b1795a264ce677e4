"""What Cloud Storage says and what it becomes, each provoked on the wire. The table stands in spec/errors.md."""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.faults import Fault, delay, drop, drop_after, hang, refuse, shape, status
from emulator.platform import Platform
from flowcore.adapters import gcs
from flowcore.adapters.gcs import GcsArtifacts
from flowcore.domain.errors import (
    AuthenticationError,
    Code,
    ConfigurationError,
    DataNotFoundError,
    NetworkError,
    StepFailed,
    ValidationError,
)
from flowcore.ports import ObjectExists
from tests.emulator.platform.sockets import a_free_base
from tests.ports.conftest import BUCKET

MIB = 2**20
THERE = "there.txt"


@dataclass(frozen=True)
class Way:
    """One call of the adapter, its name on the wire, and the code of its failures."""

    method: str
    code: Code
    call: Callable[[GcsArtifacts], object]


WAYS = {
    "find": Way("objects.get", Code.GCS_READ_FAILED, lambda artifacts: artifacts.find(THERE)),
    "read": Way("objects.get_media", Code.GCS_READ_FAILED, lambda artifacts: artifacts.read(artifacts.uri(THERE))),
    "size": Way("objects.get", Code.GCS_READ_FAILED, lambda artifacts: artifacts.size(artifacts.uri(THERE))),
    "create": Way("objects.insert", Code.GCS_WRITE_FAILED, lambda artifacts: artifacts.create("new", b"1", "a/b", {})),
    "annotate": Way("objects.patch", Code.GCS_WRITE_FAILED, lambda artifacts: artifacts.annotate(THERE, {"a": "1"})),
}


@pytest.fixture
def artifacts(platform: Platform, wire_artifacts: GcsArtifacts) -> GcsArtifacts:
    wire_artifacts.create(THERE, b"some text", "text/plain", {})
    platform.faults.calls.clear()
    return wire_artifacts


@pytest.fixture
def meet(platform: Platform, artifacts: GcsArtifacts) -> Callable[[Way, Fault], object]:
    """Make a call that meets a fault, once: nothing is tried again down here."""

    def make(way: Way, fault: Fault) -> object:
        planned = platform.faults.add(service="storage", method=way.method, action=fault)
        try:
            return way.call(artifacts)
        finally:
            assert planned.fired == platform.faults.calls.count("storage", way.method) == 1

    return make


def assert_error(failure: StepFailed, code: Code, *, retryable: bool, says: str = "") -> None:
    assert (failure.error.code, failure.error.retryable) == (code, retryable)
    assert says in failure.error.message
    assert "by request of the test" not in failure.error.message  # the server's own words may hold anything


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("way", WAYS)
def test_silence_is_a_network_error(meet: Callable[[Way, Fault], object], way: str, code: int) -> None:
    with pytest.raises(NetworkError) as silence:
        meet(WAYS[way], status(code))
    assert_error(silence.value, WAYS[way].code, retryable=True, says=f"({code})")


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("way", WAYS)
def test_a_wish_of_the_server_is_passed_on(meet: Callable[[Way, Fault], object], way: str, code: int) -> None:
    with pytest.raises(NetworkError) as silence:
        meet(WAYS[way], status(code, retry_after=7))
    assert silence.value.error.details == {"retryAfterSeconds": 7}


@pytest.mark.parametrize("fault", [refuse(), drop(), drop_after()], ids=["reset", "dropped", "reply lost"])
@pytest.mark.parametrize("way", WAYS)
def test_a_connection_that_ends_is_a_network_error(
    meet: Callable[[Way, Fault], object], way: str, fault: Fault
) -> None:
    with pytest.raises(NetworkError) as silence:
        meet(WAYS[way], fault)
    assert_error(silence.value, WAYS[way].code, retryable=True)


@pytest.mark.parametrize(("code", "error"), [(403, AuthenticationError), (400, ConfigurationError)])
@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_not_tried_again(
    meet: Callable[[Way, Fault], object], way: str, code: int, error: type[StepFailed]
) -> None:
    with pytest.raises(error) as refused:
        meet(WAYS[way], status(code))
    assert_error(refused.value, WAYS[way].code, retryable=False, says=f"({code})")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("way", WAYS)
def test_credentials_that_are_not_taken_are_a_refusal(meet: Callable[[Way, Fault], object], way: str) -> None:
    """The library asks for fresh ones first; here there are none, so its own exception comes through."""
    with pytest.raises(AuthenticationError) as refused:
        meet(WAYS[way], status(401))
    assert_error(refused.value, WAYS[way].code, retryable=False)
    del refused
    gc.collect()  # to which the library leaves the connection of a 401


@pytest.mark.parametrize("damage", ["corrupted_body", "truncated_body"])
@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_reply_is_a_network_error(meet: Callable[[Way, Fault], object], way: str, damage: str) -> None:
    """For a download that is the checksum's doing; for the rest, what came is no JSON."""
    with pytest.raises(NetworkError) as silence:
        meet(WAYS[way], shape(damage))
    assert_error(silence.value, WAYS[way].code, retryable=True)


def test_a_bucket_that_is_not_there_is_a_mistake_of_the_setup(
    storage_client: StorageClient, platform: Platform
) -> None:
    nowhere = GcsArtifacts(storage_client, "no-such-bucket")
    assert nowhere.find("a") is None
    for content in (b"1", iter([b"1"])):
        with pytest.raises(ConfigurationError) as refused:
            nowhere.create("a", content, "text/plain", {})
        assert_error(refused.value, Code.GCS_WRITE_FAILED, retryable=False, says="does the bucket exist?")
    with pytest.raises(DataNotFoundError):
        nowhere.read("gs://no-such-bucket/a")


@pytest.mark.parametrize("ask", [GcsArtifacts.read, GcsArtifacts.size], ids=["read", "size"])
def test_of_a_bucket_that_may_not_be_read_nothing_is_asked(
    platform: Platform, artifacts: GcsArtifacts, ask: Callable[[GcsArtifacts, str], object]
) -> None:
    with pytest.raises(ValidationError) as refused:
        ask(artifacts, "gs://somebody-elses/secret.json")
    assert_error(refused.value, Code.INVALID_STEP_INPUTS, retryable=False, says="see READABLE_BUCKETS")
    assert platform.faults.calls.count("storage", "*") == 0


def test_a_further_bucket_may_be_read_if_it_is_named(platform: Platform, storage_client: StorageClient) -> None:
    storage_client.create_bucket("archive").blob("a").upload_from_string(b"old")
    artifacts = GcsArtifacts(storage_client, BUCKET, ["archive"])
    assert (artifacts.size("gs://archive/a"), artifacts.read("gs://archive/a")) == (3, b"old")


def test_the_size_of_what_is_not_there_is_not_known(artifacts: GcsArtifacts) -> None:
    with pytest.raises(DataNotFoundError) as missing:
        artifacts.size(artifacts.uri("none"))
    assert_error(missing.value, Code.INVALID_STEP_INPUTS, retryable=False, says=artifacts.uri("none"))


def test_412_is_an_answer(meet: Callable[[Way, Fault], object]) -> None:
    with pytest.raises(ObjectExists):
        meet(WAYS["create"], status(412))


@pytest.mark.parametrize("fault", [hang(30), delay(30)], ids=["hangs", "slow"])
@pytest.mark.parametrize("way", ["find", "read", "size", "create", "pieces", "annotate"])
def test_a_call_ends_when_its_time_is_up(platform: Platform, artifacts: GcsArtifacts, way: str, fault: Fault) -> None:
    calls: dict[str, Callable[[], object]] = {
        "find": lambda: artifacts.find(THERE, 0.2),
        "read": lambda: artifacts.read(artifacts.uri(THERE), 0.2),
        "size": lambda: artifacts.size(artifacts.uri(THERE), 0.2),
        "create": lambda: artifacts.create("new", b"1", "a/b", {}, 0.2),
        "pieces": lambda: artifacts.create("new", iter([b"1"]), "a/b", {}, 0.2),
        "annotate": lambda: artifacts.annotate(THERE, {"a": "1"}, 0.2),
    }
    platform.faults.add(service="storage", action=fault)
    began = time.monotonic()
    with pytest.raises(NetworkError):
        calls[way]()
    assert 0.15 < time.monotonic() - began < 2


def test_many_slow_requests_share_the_time_of_their_call(platform: Platform, artifacts: GcsArtifacts) -> None:
    slow = platform.faults.add(service="storage", method="objects.insert.*", action=delay(0.3))
    began = time.monotonic()
    with pytest.raises(NetworkError):
        artifacts.create("new", (b"x" * MIB for _ in range(40)), "a/b", {}, 0.7)
    assert time.monotonic() - began < 2.5
    assert slow.fired > 1
    assert artifacts.find("new") is None


def test_a_large_content_has_all_the_time_that_it_is_given(
    platform: Platform, artifacts: GcsArtifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one request may take at most says nothing about how many there are."""
    monkeypatch.setattr(gcs, "OBJECT_CALL", 0.4)
    platform.faults.add(service="storage", method="objects.insert.*", action=delay(0.06))
    began = time.monotonic()
    artifacts.create("new", (b"x" * MIB for _ in range(40)), "a/b", {}, 20)
    assert time.monotonic() - began > 0.6


def test_a_server_that_is_not_there_is_silence(platform: Platform) -> None:
    endpoint = {"api_endpoint": f"http://127.0.0.1:{a_free_base(1)}"}
    client = StorageClient("p", AnonymousCredentials(), client_options=endpoint)  # type: ignore[no-untyped-call]
    with pytest.raises(NetworkError) as silence:
        GcsArtifacts(client, BUCKET).find("a", 5)
    assert_error(silence.value, Code.GCS_READ_FAILED, retryable=True)


@pytest.mark.parametrize("fault", [status(503), drop(), drop_after()], ids=["503", "dropped", "reply lost"])
@pytest.mark.parametrize("method", ["objects.insert.start", "objects.insert.chunk"])
def test_a_piece_that_meets_silence_is_sent_again(
    platform: Platform, artifacts: GcsArtifacts, method: str, fault: Fault
) -> None:
    """Pieces are gone once they are read, so this much the upload does by itself."""
    silent = platform.faults.add(service="storage", method=method, action=fault, times=1)

    def pieces() -> Iterator[bytes]:
        for number in range(9):
            yield bytes([number]) * MIB

    artifacts.create("new", pieces(), "a/b", {})
    assert silent.fired == 1
    assert artifacts.read(artifacts.uri("new")) == b"".join(pieces())
