"""The unmodified client library, pointed to a local server. It carries no types, so they are named here, once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import google.cloud.storage as gcs  # type: ignore[import-untyped]
import pytest

Blob: TypeAlias = gcs.Blob
Bucket: TypeAlias = gcs.Bucket
Client: TypeAlias = gcs.Client

# The client retries by itself for two minutes: a test that waits for an error asks it not to.
ONCE: dict[str, Any] = {"retry": None, "timeout": 10}


@contextmanager
def connected(url: str) -> Iterator[Client]:
    """A client that was told where to go in the standard way, and by nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", url)
        client = gcs.Client(project="test")
    try:
        yield client
    finally:
        client._http.close()


def texts(bucket: Bucket, **wish: Any) -> list[str]:
    """The names that a listing shows."""
    return [blob.name for blob in bucket.list_blobs(**wish)]


def put(bucket: Bucket, name: str, text: str | bytes = "text", **wish: Any) -> Blob:
    blob = bucket.blob(name)
    blob.upload_from_string(text, **wish)
    return blob
