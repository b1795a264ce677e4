"""Objects of Cloud Storage as files: opened where they lie and read as they are needed, however large they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import google.cloud.storage as gcs  # type: ignore[import-untyped]

from flowcore.adapters.gcs import _translated
from flowcore.domain.errors import Code, DataNotFoundError
from flowcore.ports import OBJECT_CALL

_URI = re.compile(r"gs://(?P<bucket>[^/]+)/(?P<name>.+)", re.DOTALL)
_AT_ONCE = 2**20


class GcsFiles:
    def __init__(self, client: gcs.Client) -> None:
        self._client = client

    @contextmanager
    def opened(self, uri: str, timeout: float = OBJECT_CALL) -> Iterator[BinaryIO]:
        """For reading at any place. `timeout` is for each of the calls that this takes."""
        parts = _URI.fullmatch(uri)
        if parts is None:
            raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri!r} is not gs://bucket/object")
        seconds = min(timeout, OBJECT_CALL)
        with _translated(Code.GCS_READ_FAILED, uri):
            # Asked for first, so that its generation is known: a file must not change between two of its pieces.
            blob = self._client.bucket(parts["bucket"]).get_blob(parts["name"], retry=None, timeout=seconds)
            if blob is None:
                raise DataNotFoundError(Code.INVALID_STEP_INPUTS, f"{uri} does not exist")
            with blob.open("rb", chunk_size=_AT_ONCE, retry=None, timeout=seconds) as file:
                yield cast("BinaryIO", file)
