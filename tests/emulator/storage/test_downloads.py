"""The way out: all of it, or a range, with what a reader needs to check it."""

import pytest
import requests
from google.api_core.exceptions import NotFound, RequestRangeNotSatisfiable

from emulator.storage import StorageServer
from tests.emulator.storage.client import Bucket, put


def test_range_is_the_part_between_two_bytes_both_included(bucket: Bucket) -> None:
    blob = put(bucket, "a", b"0123456789")
    assert blob.download_as_bytes(start=2, end=4) == b"234"
    assert blob.download_as_bytes(start=7) == b"789"
    assert blob.download_as_bytes(start=-3) == b"789"
    assert blob.download_as_bytes(start=8, end=99) == b"89"


def test_range_beyond_the_end_is_not_satisfiable(bucket: Bucket) -> None:
    with pytest.raises(RequestRangeNotSatisfiable):
        put(bucket, "a", b"0123456789").download_as_bytes(start=10)


def test_range_is_answered_as_partial_content(server: StorageServer, bucket: Bucket) -> None:
    put(bucket, "a/b", b"0123456789", content_type="text/csv")
    for path in ("/storage/v1", "/download/storage/v1"):
        url = f"{server.url}{path}/b/{bucket.name}/o/a%2Fb?alt=media"
        part = requests.get(url, headers={"Range": "bytes=2-4"}, timeout=10)
        assert (part.status_code, part.content) == (206, b"234")
        assert part.headers["Content-Range"] == "bytes 2-4/10"
        beyond = requests.get(url, headers={"Range": "bytes=50-"}, timeout=10)
        assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, "bytes */10")
        odd = requests.get(url, headers={"Range": "lines=1-2"}, timeout=10)
        assert (odd.status_code, odd.content) == (200, b"0123456789")


def test_download_carries_what_a_reader_needs(server: StorageServer, bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"run": "r1"}
    blob.upload_from_string("text", content_type="text/csv")
    reply = requests.get(f"{server.url}/storage/v1/b/{bucket.name}/o/a?alt=media", timeout=10)
    assert reply.headers["Content-Type"] == "text/csv"
    assert reply.headers["X-Goog-Generation"] == str(blob.generation)
    assert reply.headers["X-Goog-Metageneration"] == "1"
    assert reply.headers["X-Goog-Hash"] == f"crc32c={blob.crc32c},md5={blob.md5_hash}"
    assert reply.headers["X-Goog-Meta-run"] == "r1"
    assert reply.headers["ETag"] == blob.etag


def test_odd_descriptions_do_not_spoil_the_reply(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"a: b": "c", "ключ": "значение", "two": "line\nline"}
    blob.content_disposition = "attachment; filename=日本.csv"
    blob.upload_from_string("text")
    assert bucket.blob("a").download_as_text() == "text"


def test_large_object_comes_in_chunks(bucket: Bucket) -> None:
    data = bytes(range(256)) * 4096
    put(bucket, "big", data)
    blob = bucket.blob("big", chunk_size=256 * 1024)
    assert blob.download_as_bytes() == data
    with blob.open("rb") as file:
        file.seek(1000)
        assert file.read(10) == data[1000:1010]


def test_missing_object_is_not_found_in_words(bucket: Bucket) -> None:
    with pytest.raises(NotFound, match=f"No such object: {bucket.name}/nothing"):
        bucket.blob("nothing").download_as_bytes()
    assert bucket.get_blob("nothing") is None
    assert not bucket.blob("nothing").exists()


def test_reader_can_insist_on_a_generation(bucket: Bucket) -> None:
    old = put(bucket, "a", "old").generation
    new = put(bucket, "a", "new").generation
    assert bucket.blob("a", generation=new).download_as_text() == "new"
    with pytest.raises(NotFound):
        bucket.blob("a", generation=old).download_as_text()


def test_error_bodies_are_the_official_ones(server: StorageServer, bucket: Bucket) -> None:
    missing = requests.get(f"{server.url}/storage/v1/b/{bucket.name}/o/none", timeout=10)
    message = f"No such object: {bucket.name}/none"
    detail = {"message": message, "domain": "global", "reason": "notFound"}
    assert missing.json() == {"error": {"code": 404, "message": message, "errors": [detail]}}
    media = requests.get(f"{server.url}/storage/v1/b/{bucket.name}/o/none?alt=media", timeout=10)
    assert (media.status_code, media.text) == (404, message)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/storage/v1/b/{bucket}/o?maxResults=many", 400),
        ("GET", "/storage/v1/b/{bucket}/o?pageToken=%F0", 400),
        ("GET", "/storage/v1/b/{bucket}/o/a?ifGenerationMatch=new", 400),
        ("GET", "/storage/v1/b/{bucket}/o/a?generation=new", 400),
        ("POST", "/upload/storage/v1/b/{bucket}/o?uploadType=pigeon&name=a", 400),
        ("POST", "/upload/storage/v1/b/{bucket}/o?uploadType=multipart&name=a", 400),
        ("POST", "/upload/storage/v1/b/{bucket}/o?uploadType=media", 400),
        ("PATCH", "/storage/v1/b/{bucket}/o/a", 400),
        ("GET", "/storage/v2/unknown", 404),
    ],
)
def test_nonsense_is_answered_with_an_error_body(
    server: StorageServer, bucket: Bucket, method: str, path: str, status: int
) -> None:
    put(bucket, "a")
    reply = requests.request(method, server.url + path.format(bucket=bucket.name), data=b"not JSON", timeout=10)
    assert reply.status_code == status
    assert reply.json()["error"]["code"] == status
