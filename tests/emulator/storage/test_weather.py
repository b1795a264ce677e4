"""Every fault, provoked through the unmodified client, gives the exception that production code has to catch.

The client retries by itself for two minutes, so each call here says `retry=None` and a timeout; the tests of what the
client makes of bad weather when it is left alone stand at the end.
"""

import io
from collections.abc import Callable
from typing import Any

import pytest
import requests
from google.api_core import exceptions
from google.cloud.storage.exceptions import DataCorruption  # type: ignore[import-untyped]
from google.cloud.storage.retry import DEFAULT_RETRY  # type: ignore[import-untyped]

from emulator.faults import Fault, Faults, delay, drop, drop_after, hang, refuse, shape, status
from emulator.storage import StorageServer
from tests.emulator.storage.client import ONCE, Bucket, connected, put, texts

Operation = Callable[[Bucket], Any]

OPERATIONS: dict[str, tuple[str, Operation]] = {
    "upload": ("objects.insert", lambda bucket: put(bucket, "a", "new", **ONCE)),
    "begin upload": (
        "objects.insert.start",
        lambda bucket: bucket.blob("a").create_resumable_upload_session(**ONCE),
    ),
    "read": ("objects.get_media", lambda bucket: bucket.blob("a").download_as_bytes(**ONCE)),
    "look": ("objects.get", lambda bucket: bucket.blob("a").reload(**ONCE)),
    "patch": ("objects.patch", lambda bucket: bucket.blob("a").patch(**ONCE)),
    "delete": ("objects.delete", lambda bucket: bucket.blob("a").delete(**ONCE)),
    "list": ("objects.list", lambda bucket: texts(bucket, **ONCE)),
}


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest, bucket: Bucket, faults: Faults) -> tuple[str, Operation]:
    put(bucket, "a", "old")
    return OPERATIONS[request.param]


# --- answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (403, exceptions.Forbidden),
        (429, exceptions.TooManyRequests),
        (500, exceptions.InternalServerError),
        (503, exceptions.ServiceUnavailable),
        (504, exceptions.GatewayTimeout),
    ],
)
def test_error_status_is_its_exception(
    operation: tuple[str, Operation], bucket: Bucket, faults: Faults, code: int, expected: type[Exception]
) -> None:
    method, call = operation
    planned = faults.add(service="storage", method=method, action=status(code, "bad weather"), times=1)
    with pytest.raises(expected, match="bad weather"):
        call(bucket)
    assert planned.fired == 1
    call(bucket)


def test_advice_when_to_come_back_reaches_the_caller(bucket: Bucket, faults: Faults) -> None:
    faults.add(service="storage", action=status(429, retry_after=17))
    with pytest.raises(exceptions.TooManyRequests) as caught:
        put(bucket, "a", **ONCE)
    assert caught.value.response.headers["Retry-After"] == "17"
    assert caught.value.response.json()["error"]["errors"][0]["reason"] == "rateLimitExceeded"


# --- connections ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [drop(), refuse(), hang(0.05)], ids=["drop", "refuse", "hang"])
def test_broken_connection_is_a_connection_error_and_nothing_was_done(
    operation: tuple[str, Operation], bucket: Bucket, faults: Faults, action: Fault
) -> None:
    method, call = operation
    planned = faults.add(service="storage", method=method, action=action, times=1)
    with pytest.raises(requests.exceptions.ConnectionError):
        call(bucket)
    assert planned.fired == 1
    assert bucket.blob("a").download_as_text() == "old"


def test_silence_is_a_timeout(operation: tuple[str, Operation], bucket: Bucket, faults: Faults) -> None:
    method, _ = operation
    faults.add(service="storage", method=method, action=hang(30), times=1)
    impatient: dict[str, Any] = {"retry": None, "timeout": 0.1}
    calls: dict[str, Operation] = {
        "objects.insert": lambda bucket: put(bucket, "a", "new", **impatient),
        "objects.insert.start": lambda bucket: bucket.blob("a").create_resumable_upload_session(**impatient),
        "objects.get_media": lambda bucket: bucket.blob("a").download_as_bytes(**impatient),
        "objects.get": lambda bucket: bucket.blob("a").reload(**impatient),
        "objects.patch": lambda bucket: bucket.blob("a").patch(**impatient),
        "objects.delete": lambda bucket: bucket.blob("a").delete(**impatient),
        "objects.list": lambda bucket: texts(bucket, **impatient),
    }
    with pytest.raises(requests.exceptions.ReadTimeout):
        calls[method](bucket)


def test_slow_answer_is_an_answer(bucket: Bucket, faults: Faults) -> None:
    planned = faults.add(service="storage", action=delay(0.05), times=1)
    put(bucket, "a", **ONCE)
    assert planned.fired == 1


def test_nobody_listening_is_a_connection_error() -> None:
    server = StorageServer().start()
    with connected(server.url) as client:
        bucket = client.create_bucket("soon-gone")
        server.stop()
        with pytest.raises(requests.exceptions.ConnectionError):
            put(bucket, "a", **ONCE)


# --- done, but nobody was told ----------------------------------------------------------------------------


def test_lost_reply_leaves_the_object_there(bucket: Bucket, faults: Faults) -> None:
    lost = faults.add(service="storage", method="objects.insert", action=drop_after(), times=1)
    with pytest.raises(requests.exceptions.ConnectionError):
        put(bucket, "a", "mine", if_generation_match=0, **ONCE)
    assert lost.fired == 1
    assert bucket.blob("a").download_as_text() == "mine"


def test_lost_reply_of_a_create_only_write_comes_back_as_a_failed_precondition(bucket: Bucket, faults: Faults) -> None:
    lost = faults.add(service="storage", method="objects.insert", action=drop_after(), times=1)
    with pytest.raises(exceptions.PreconditionFailed):
        put(bucket, "a", "mine", if_generation_match=0, retry=DEFAULT_RETRY.with_timeout(5), timeout=5)
    assert lost.fired == 1
    assert faults.calls.count(method="objects.insert", resource=f"{bucket.name}/a") == 2
    assert bucket.blob("a").download_as_text() == "mine"


def test_error_may_be_told_although_it_was_done(bucket: Bucket, faults: Faults) -> None:
    faults.add(service="storage", method="objects.insert", action=status(503, applied=True), times=1)
    with pytest.raises(exceptions.ServiceUnavailable):
        put(bucket, "a", "mine", **ONCE)
    assert bucket.blob("a").download_as_text() == "mine"


# --- damaged on the way -----------------------------------------------------------------------------------


def test_damaged_content_is_noticed(bucket: Bucket, faults: Faults) -> None:
    put(bucket, "a", "text" * 100)
    faults.add(service="storage", method="objects.get_media", action=shape("corrupted_body"), times=1)
    with pytest.raises(DataCorruption):
        bucket.blob("a").download_as_bytes(**ONCE)


def test_content_that_breaks_off_is_noticed(bucket: Bucket, faults: Faults) -> None:
    put(bucket, "a", "text" * 100)
    faults.add(service="storage", method="objects.get_media", action=shape("truncated_body"), times=1)
    with pytest.raises(requests.exceptions.RequestException):
        bucket.blob("a").download_as_bytes(**ONCE)


# --- what the client survives by itself -------------------------------------------------------------------


def test_client_left_alone_gets_through(bucket: Bucket, faults: Faults) -> None:
    planned = faults.add(service="storage", method="objects.get", action=status(503), times=2)
    blob = put(bucket, "a")
    blob.reload(retry=DEFAULT_RETRY.with_delay(initial=0.01))
    assert planned.fired == 2


def test_resumable_upload_goes_on_after_a_lost_piece(bucket: Bucket, faults: Faults) -> None:
    quick = DEFAULT_RETRY.with_delay(initial=0.01, maximum=0.05)
    data = bytes(range(256)) * 4096
    planned = faults.add(service="storage", method="objects.insert.chunk", action=status(503), skip=1, times=2)
    lost = faults.add(service="storage", method="objects.insert.chunk", action=drop_after(), skip=2, times=1)
    blob = bucket.blob("big", chunk_size=256 * 1024)
    blob.upload_from_file(io.BytesIO(data), retry=quick, if_generation_match=0)
    assert (planned.fired, lost.fired) == (2, 1)
    assert bucket.blob("big").download_as_bytes() == data


# --- by HTTP ----------------------------------------------------------------------------------------------


def test_faults_are_planned_read_and_cleared_by_http(server: StorageServer, bucket: Bucket, faults: Faults) -> None:
    url = f"{server.url}/__faults"
    wish = {"service": "storage", "method": "objects.insert", "action": {"status": 503, "retryAfter": 2}, "times": 1}
    planned = requests.post(url, json=wish, timeout=10).json()
    with pytest.raises(exceptions.ServiceUnavailable):
        put(bucket, "a", **ONCE)
    (told,) = requests.get(url, timeout=10).json()["faults"]
    assert (told["id"], told["fired"], told["times"]) == (planned["id"], 1, 1)
    assert told["action"]["retryAfter"] == 2
    requests.delete(url, timeout=10)
    assert requests.get(url, timeout=10).json() == {"faults": []}


def test_counters_and_history_are_read_by_http(server: StorageServer, bucket: Bucket, faults: Faults) -> None:
    before = faults.history.since().next
    blob = put(bucket, "a")
    calls = requests.get(f"{server.url}/__calls", timeout=10).json()["calls"]
    assert {"service": "storage", "method": "objects.insert", "resource": f"{bucket.name}/a", "count": 1} in calls
    page = requests.get(f"{server.url}/__history?since={before}", timeout=10).json()
    (told,) = [record for record in page["records"] if record["kind"] == "object"]
    assert (told["resource"], told["detail"]["generation"]) == (f"{bucket.name}/a", blob.generation)
    assert (page["dropped"], page["next"]) == (0, page["records"][-1]["sequence"])
