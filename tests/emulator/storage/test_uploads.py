"""The ways in: at once, with metadata, piece by piece; checked on arrival."""

import base64
import gzip
import io
import os
from collections.abc import Callable
from typing import Any

import pytest
import requests
from google.api_core.exceptions import BadRequest, NotFound, PreconditionFailed

from emulator.storage import StorageServer
from tests.emulator.storage.client import Bucket, Client, connected, put

KIB = 1024
CHUNK = 256 * KIB


# --- at once ----------------------------------------------------------------------------------------------


def test_uploaded_text_comes_back(bucket: Bucket) -> None:
    put(bucket, "a/b c?ü%.txt", "hällo", content_type="text/plain")
    found = bucket.get_blob("a/b c?ü%.txt")
    assert found.download_as_text() == "hällo"
    assert (found.content_type, found.size) == ("text/plain", 6)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\r\n--\r\n", bytes(range(256)) * 20], ids=len)
def test_any_bytes_come_back(bucket: Bucket, data: bytes) -> None:
    put(bucket, "bytes", data)
    assert bucket.blob("bytes").download_as_bytes() == data


@pytest.mark.parametrize("quote", ["", '"', "'"], ids=["bare", "in double quotes", "in single quotes, as gcloud does"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["bare newlines", "as mail has them"])
def test_the_two_parts_are_told_apart_however_their_boundary_is_written(
    server: StorageServer, bucket: Bucket, quote: str, newline: str
) -> None:
    edge = "===============5334949793156108332=="
    lines = [
        f"--{edge}", "Content-Type: application/json", "", '{"name": "a/x.json", "contentType": "text/csv"}',
        f"--{edge}", "Content-Type: application/json", "Content-Transfer-Encoding: binary", "", "a,b\r",
        f"--{edge}--", "",
    ]  # fmt: skip
    answer = requests.post(
        f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart",
        data=newline.join(lines),
        headers={"Content-Type": f"multipart/related; boundary={quote}{edge}{quote}"},
        timeout=5,
    )
    assert answer.status_code == 200, answer.text
    found = bucket.get_blob("a/x.json")
    assert (found.content_type, found.download_as_bytes()) == ("text/csv", b"a,b\r")


def test_upload_answers_with_both_checksums(bucket: Bucket) -> None:
    blob = put(bucket, "a", b"123456789")
    assert blob.crc32c == base64.b64encode((0xE3069283).to_bytes(4, "big")).decode()
    assert blob.md5_hash == "JfnnlDI7RTiF9RgfG2JNCw=="


def test_generations_rise_even_over_a_deletion(bucket: Bucket) -> None:
    first = put(bucket, "a").generation
    second = put(bucket, "a").generation
    bucket.blob("a").delete()
    third = put(bucket, "a").generation
    assert first < second < third


def test_new_content_begins_with_metageneration_one_and_without_old_metadata(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"k": "v"}
    blob.upload_from_string("one")
    blob.patch()
    assert put(bucket, "a").metageneration == 1
    assert bucket.get_blob("a").metadata is None


def test_everything_that_describes_an_object_is_kept(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"run": "r1", "ключ": "значение"}
    blob.cache_control = "no-store"
    blob.content_disposition = "attachment"
    blob.content_language = "de"
    blob.upload_from_string("x", content_type="application/json")
    found = bucket.get_blob("a")
    assert found.metadata == {"run": "r1", "ключ": "значение"}
    assert (found.cache_control, found.content_disposition) == ("no-store", "attachment")
    assert (found.content_language, found.content_type) == ("de", "application/json")


def test_plain_media_upload_takes_its_name_from_the_query(server: StorageServer, bucket: Bucket) -> None:
    url = f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=plain"
    requests.post(url, data=b"bytes", headers={"Content-Type": "image/png"}, timeout=10).raise_for_status()
    assert bucket.get_blob("plain").content_type == "image/png"


def test_body_in_chunks_of_unknown_number_is_read(server: StorageServer, bucket: Bucket) -> None:
    url = f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=chunked"
    requests.post(url, data=iter([b"one ", b"two ", b"three"]), timeout=10).raise_for_status()
    assert bucket.blob("chunked").download_as_bytes() == b"one two three"


# --- what is refused --------------------------------------------------------------------------------------


def test_wrong_md5_is_refused(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.md5_hash = base64.b64encode(bytes(16)).decode()
    with pytest.raises(BadRequest, match="doesn't match calculated MD5 hash"):
        blob.upload_from_string("x", checksum=None)
    assert not bucket.blob("a").exists()


def test_wrong_crc32c_is_refused(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.crc32c = "AAAAAA=="
    with pytest.raises(BadRequest, match="doesn't match calculated CRC32C"):
        blob.upload_from_string("x", checksum=None)


@pytest.mark.parametrize("header", [{"X-Goog-Hash": "crc32c=AAAAAA=="}, {"Content-MD5": "AAAA"}])
def test_wrong_checksum_in_a_header_is_refused(server: StorageServer, bucket: Bucket, header: dict[str, str]) -> None:
    url = f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=x"
    reply = requests.post(url, data=b"x", headers=header, timeout=10)
    assert (reply.status_code, reply.json()["error"]["errors"][0]["reason"]) == (400, "invalid")


@pytest.mark.parametrize("checksum", ["md5", "crc32c", "auto", None])
def test_every_checksum_of_the_client_is_accepted(bucket: Bucket, checksum: str | None) -> None:
    assert put(bucket, "a", "x", checksum=checksum).generation


def test_custom_metadata_has_eight_kibibytes(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"key": "v" * (8 * KIB - 3)}
    blob.upload_from_string("x")
    blob.metadata = {"key": "v" * (8 * KIB - 2)}
    with pytest.raises(BadRequest, match="8192 bytes"):
        blob.upload_from_string("x")
    with pytest.raises(BadRequest, match="8192 bytes"):
        blob.patch()


@pytest.mark.parametrize("name", ["x" * 1025, "..", "a\nb"])
def test_object_names_have_rules(bucket: Bucket, name: str) -> None:
    with pytest.raises(BadRequest):
        put(bucket, name)


# --- piece by piece ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 77])
def test_resumable_upload_of_any_size_comes_back(bucket: Bucket, size: int) -> None:
    data = os.urandom(size)
    bucket.blob("big", chunk_size=CHUNK).upload_from_file(io.BytesIO(data), size=size, content_type="image/png")
    found = bucket.get_blob("big")
    assert found.download_as_bytes() == data
    assert found.content_type == "image/png"


def test_upload_of_unknown_size_ends_by_itself(bucket: Bucket) -> None:
    with bucket.blob("stream", chunk_size=CHUNK).open("wb", ignore_flush=True) as file:
        for _ in range(5):
            file.write(b"x" * 200_000)
    assert bucket.get_blob("stream").size == 1_000_000


Begin = Callable[..., str]


@pytest.fixture
def begin(client: Client, bucket: Bucket) -> Begin:
    """Begin a resumable upload as the client does, and say where it goes on."""

    def begin(name: str = "big", **wish: Any) -> str:
        return str(bucket.blob(name).create_resumable_upload_session(content_type="text/plain", **wish))

    return begin


def piece(url: str, content_range: str, data: bytes = b"", **headers: str) -> requests.Response:
    return requests.put(url, data=data, headers={"Content-Range": content_range, **headers}, timeout=10)


def test_session_says_how_much_has_come(begin: Begin, bucket: Bucket) -> None:
    url, size = begin(), 2 * CHUNK
    asked = piece(url, "bytes */*")
    assert (asked.status_code, asked.headers.get("Range")) == (308, None)
    taken = piece(url, f"bytes 0-{CHUNK - 1}/{size}", bytes(CHUNK))
    assert (taken.status_code, taken.headers["Range"]) == (308, f"bytes=0-{CHUNK - 1}")
    again = piece(url, f"bytes */{size}")
    assert (again.status_code, again.headers["Range"]) == (308, f"bytes=0-{CHUNK - 1}")
    assert not bucket.blob("big").exists()
    assert piece(url, f"bytes {CHUNK}-{size - 1}/{size}", bytes(CHUNK)).status_code == 200
    assert piece(url, "bytes */*").json()["size"] == str(size), "a finished session repeats its result"


def test_piece_that_came_twice_counts_once(begin: Begin, bucket: Bucket) -> None:
    url = begin()
    for _ in range(2):
        piece(url, f"bytes 0-{CHUNK - 1}/*", b"a" * CHUNK)
    assert piece(url, f"bytes {CHUNK}-{CHUNK}/{CHUNK + 1}", b"b").status_code == 200
    assert bucket.blob("big").download_as_bytes() == b"a" * CHUNK + b"b"


def test_piece_that_is_not_the_last_is_kept_in_quanta(begin: Begin) -> None:
    url = begin()
    taken = piece(url, f"bytes 0-{CHUNK + 9}/*", bytes(CHUNK + 10))
    assert taken.headers["Range"] == f"bytes=0-{CHUNK - 1}"


def test_gap_between_pieces_is_refused(begin: Begin) -> None:
    assert piece(begin(), f"bytes {CHUNK}-{CHUNK}/{CHUNK + 1}", b"b").status_code == 503


def test_other_size_than_announced_is_refused(begin: Begin, bucket: Bucket) -> None:
    assert piece(begin(size=10), "bytes 0-4/5", b"12345").status_code == 400
    assert not bucket.blob("big").exists()


def test_size_that_is_no_number_is_refused(server: StorageServer, bucket: Bucket) -> None:
    url = f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=resumable&name=big"
    reply = requests.post(url, headers={"X-Upload-Content-Length": "some"}, timeout=10)
    assert (reply.status_code, "X-Upload-Content-Length" in reply.text) == (400, True)


def test_a_reset_ends_uploads_under_way() -> None:
    with StorageServer() as server, connected(server.url) as client:
        bucket = client.create_bucket("begun")
        url = bucket.blob("big").create_resumable_upload_session()
        server.reset()
        client.create_bucket("begun")
        assert piece(url, "bytes 0-0/1", b"1").status_code == 404


def test_last_piece_is_checked(begin: Begin, bucket: Bucket) -> None:
    reply = piece(begin(), "bytes 0-4/5", b"12345", **{"X-Goog-Hash": "crc32c=AAAAAA=="})
    assert reply.status_code == 400
    assert not bucket.blob("big").exists()


def test_cancelled_upload_leaves_nothing(begin: Begin, bucket: Bucket) -> None:
    url = begin()
    piece(url, f"bytes 0-{CHUNK - 1}/*", bytes(CHUNK))
    assert requests.delete(url, timeout=10).status_code == 499
    assert piece(url, "bytes */*").status_code == 404
    assert not bucket.blob("big").exists()


def test_precondition_holds_when_a_resumable_upload_begins(bucket: Bucket) -> None:
    put(bucket, "big")
    with pytest.raises(PreconditionFailed):
        bucket.blob("big").create_resumable_upload_session(if_generation_match=0)


def test_precondition_holds_when_a_resumable_upload_ends(begin: Begin, bucket: Bucket) -> None:
    url = begin(if_generation_match=0)
    put(bucket, "big", "someone was faster")
    late = piece(url, "bytes 0-4/5", b"12345")
    assert (late.status_code, late.json()["error"]["errors"][0]["reason"]) == (412, "conditionNotMet")
    assert bucket.blob("big").download_as_text() == "someone was faster"


def test_resumable_upload_to_a_missing_bucket_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        client.bucket("nobody-made-this").blob("big").create_resumable_upload_session()


def test_stored_compressed_comes_back_as_it_was_meant(server: StorageServer, bucket: Bucket) -> None:
    blob = bucket.blob("packed")
    blob.content_encoding = "gzip"
    blob.upload_from_string(gzip.compress(b"words" * 100))
    assert bucket.blob("packed").download_as_bytes() == b"words" * 100
    url = f"{server.url}/download/storage/v1/b/{bucket.name}/o/packed?alt=media"
    plain = requests.get(url, headers={"Accept-Encoding": "identity"}, timeout=10)
    assert plain.content == b"words" * 100
    assert gzip.decompress(bucket.blob("packed").download_as_bytes(raw_download=True)) == b"words" * 100
