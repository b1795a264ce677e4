"""Objects of Cloud Storage as files: opened where they lie and read as they are needed, however large they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import google.cloud.storage as gcs  # type: ignore[import-untyped]

from flowcore.adapters.gcs import readable_place, translated
from flowcore.domain.errors import Code, DataNotFoundError
from flowcore.ports import OBJECT_CALL

_AT_ONCE = 2**20


class GcsFiles:
    def __init__(self, client: gcs.Client, readable_buckets: Collection[str]) -> None:
        self._client = client
        self._readable = readable_buckets

    @contextmanager
    def opened(self, uri: str, timeout: float = OBJECT_CALL) -> Iterator[BinaryIO]:
        """For reading at any place. `timeout` is for each of the calls that this takes."""
        bucket, name = readable_place(uri, self._readable)
        seconds = min(timeout, OBJECT_CALL)
        with translated(Code.GCS_READ_FAILED, uri):
            # Asked for first, so that its generation is known: a file must not change between two of its pieces.
            blob = self._client.bucket(bucket).get_blob(name, retry=None, timeout=seconds)
            if blob is None:
                raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri} does not exist")
            with blob.open("rb", chunk_size=_AT_ONCE, retry=None, timeout=seconds) as file:
                yield cast("BinaryIO", file)
