"""Cloud Storage behind `Artifacts`. Nothing is overwritten, and nothing repeated: trying again is the engine's."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import google.cloud.storage as gcs  # type: ignore[import-untyped]
import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.cloud.storage.exceptions import DataCorruption  # type: ignore[import-untyped]
from google.cloud.storage.retry import DEFAULT_RETRY  # type: ignore[import-untyped]
from urllib3 import Timeout

from flowcore.domain.errors import (
    AuthenticationError,
    Code,
    ConfigurationError,
    DataNotFoundError,
    NetworkError,
    ValidationError,
)
from flowcore.ports import OBJECT_CALL, ObjectExists, StoredObject

PIECE = 4 * 2**20
_A_MOMENT = 0.05
_AGAIN = DEFAULT_RETRY.with_delay(initial=0.5, maximum=8.0)
_URI = re.compile(r"gs://(?P<bucket>[^/]+)/(?P<name>.+)", re.DOTALL)
_SILENCE = (
    api.ServerError,
    api.TooManyRequests,
    api.RetryError,
    requests.RequestException,
    auth.TransportError,
    DataCorruption,
    ConnectionError,
    TimeoutError,
)


class _Within(Timeout):
    """One deadline for all requests of a call: content in pieces takes many, and together they have no more time.

    It counts silence. An answer that never falls silent, a byte now and then, could only be ended by cutting its
    connection, as `punctual` does; but here connections are shared by all calls of a process, to save a handshake each.
    Such a call ends with its invocation, and the step is recovered by its lease.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(total=max(_A_MOMENT, seconds))
        self._ends = time.monotonic() + seconds

    def clone(self) -> Timeout:
        """What each request asks for when it begins."""
        left = self._ends - time.monotonic()
        return Timeout(total=max(_A_MOMENT, min(left, OBJECT_CALL)))


class GcsArtifacts:
    """Objects are created in one bucket. They may be read from others, too, if these are named."""

    def __init__(self, client: gcs.Client, bucket: str, readable_buckets: Collection[str] = ()) -> None:
        self._client = client
        self._bucket = client.bucket(bucket)
        self._readable = frozenset({bucket, *readable_buckets})

    def uri(self, name: str) -> str:
        return f"gs://{self._bucket.name}/{name}"

    def find(self, name: str, timeout: float = OBJECT_CALL) -> StoredObject | None:
        with translated(Code.GCS_READ_FAILED, self.uri(name)):
            blob = self._bucket.get_blob(name, retry=None, timeout=_Within(timeout))
        return self._stored(blob) if blob else None

    def create(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        content_type: str,
        metadata: Mapping[str, str],
        timeout: float = OBJECT_CALL,
    ) -> StoredObject:
        blob = self._bucket.blob(name, chunk_size=None if isinstance(content, bytes) else PIECE)
        blob.metadata = dict(metadata)
        time_left = _Within(timeout)
        with translated(Code.GCS_WRITE_FAILED, self.uri(name)):
            try:
                blob.upload_from_file(
                    io.BytesIO(content) if isinstance(content, bytes) else _Pieces(content),
                    size=len(content) if isinstance(content, bytes) else None,
                    content_type=content_type,
                    if_generation_match=0,
                    checksum="crc32c",
                    timeout=time_left,
                    # Pieces are gone once they are read; only the upload itself can send one of them again.
                    retry=None if isinstance(content, bytes) else _AGAIN.with_timeout(time_left.total),
                )
            except api.PreconditionFailed as exists:
                raise ObjectExists(name) from exists
            except api.NotFound as missing:
                raise _no_place(self.uri(name)) from missing
        return self._stored(blob)

    def annotate(self, name: str, metadata: Mapping[str, str], timeout: float = OBJECT_CALL) -> StoredObject:
        blob = self._bucket.blob(name)
        blob.metadata = dict(metadata)
        with translated(Code.GCS_WRITE_FAILED, self.uri(name)):
            try:
                blob.patch(retry=None, timeout=_Within(timeout))
            except api.NotFound as missing:
                raise _no_place(self.uri(name)) from missing
        return self._stored(blob)

    def read(self, uri: str, timeout: float = OBJECT_CALL) -> bytes:
        bucket, name = readable_place(uri, self._readable)
        blob = self._client.bucket(bucket).blob(name)
        with translated(Code.GCS_READ_FAILED, uri):
            content: bytes = blob.download_as_bytes(retry=None, timeout=_Within(timeout))
        return content

    def size(self, uri: str, timeout: float = OBJECT_CALL) -> int:
        """In bytes, by the object's metadata: nothing of it is read."""
        bucket, name = readable_place(uri, self._readable)
        with translated(Code.GCS_READ_FAILED, uri):
            blob = self._client.bucket(bucket).get_blob(name, retry=None, timeout=_Within(timeout))
        if blob is None:
            raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri} does not exist")
        return int(blob.size)

    def _stored(self, blob: gcs.Blob) -> StoredObject:
        return StoredObject(str(blob.name), self.uri(str(blob.name)), dict(blob.metadata or {}))


class _Pieces(io.RawIOBase):
    """An iterator in the shape of a file that is read forward, once."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def read(self, size: int = -1) -> bytes:
        taken = [self._left]
        have = len(self._left)
        while size < 0 or have < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            taken.append(piece)
            have += len(piece)
        whole = b"".join(taken)
        end = len(whole) if size < 0 else size
        given, self._left = whole[:end], whole[end:]
        self._given += len(given)
        return given


def readable_place(uri: str, buckets: Collection[str]) -> tuple[str, str]:
    """Bucket and name. Whoever starts a run may write any URI into it: only what steps may read is looked at."""
    parts = _URI.fullmatch(uri)
    if parts is None:
        raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri!r} is not gs://bucket/object")
    if parts["bucket"] not in buckets:
        raise ValidationError(
            Code.INVALID_STEP_INPUTS,
            f"{uri} is in no bucket that may be read; see READABLE_BUCKETS",
            details={"reason": "bucket_not_allowed"},
        )
    return parts["bucket"], parts["name"]


@contextmanager
def translated(code: Code, what: str) -> Iterator[None]:
    try:
        yield
    except api.NotFound as missing:
        raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{what} does not exist") from missing
    except _SILENCE as silence:
        raise NetworkError(
            code, f"{what}: Cloud Storage did not answer ({_status(silence)})", details=_wish(silence)
        ) from silence
    except (api.Forbidden, api.Unauthorized, auth.GoogleAuthError) as refused:
        raise AuthenticationError(
            code,
            f"{what}: Cloud Storage refused ({_status(refused)}); may the account read and create objects?",
        ) from refused
    except api.GoogleAPICallError as refused:
        if refused.code == 408:  # the library has no class for it
            raise NetworkError(code, f"{what}: Cloud Storage did not answer (408)", details=_wish(refused)) from refused
        raise ConfigurationError(code, f"{what}: Cloud Storage refused ({_status(refused)})") from refused


def _status(error: Exception) -> str:
    code = getattr(error, "code", None)
    return str(int(code)) if isinstance(code, int) else type(error).__name__


def _wish(error: Exception) -> Mapping[str, object] | None:
    response = getattr(error, "response", None)
    asked = response.headers.get("Retry-After", "") if isinstance(response, requests.Response) else ""
    return {"retryAfterSeconds": int(asked)} if asked.isdigit() else None


def _no_place(uri: str) -> ConfigurationError:
    return ConfigurationError(Code.GCS_WRITE_FAILED, f"{uri}: there is no place for it; does the bucket exist?")
