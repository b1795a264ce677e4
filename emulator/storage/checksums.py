"""The two fingerprints of an object, as the service writes them, and what a client may say about them beforehand."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import google_crc32c

from emulator.storage.errors import invalid


@dataclass(frozen=True, slots=True)
class Checksums:
    """Base64, as on the wire. A composed object has no MD5; a client that claims nothing has neither."""

    crc32c: str | None = None
    md5: str | None = None

    @classmethod
    def of(cls, data: bytes) -> "Checksums":
        digest = hashlib.md5(data, usedforsecurity=False).digest()
        crc = google_crc32c.value(data).to_bytes(4, "big")
        return cls(base64.b64encode(crc).decode(), base64.b64encode(digest).decode())

    @classmethod
    def claimed(cls, metadata: Mapping[str, Any], hash_header: str | None, md5_header: str | None) -> "Checksums":
        """What the sender says: in the metadata, in `X-Goog-Hash: crc32c=…,md5=…`, or in `Content-MD5`."""
        pairs = (part.strip().partition("=") for part in (hash_header or "").split(","))
        header = {name: value for name, _, value in pairs if value}
        return cls(
            crc32c=metadata.get("crc32c") or header.get("crc32c"),
            md5=metadata.get("md5Hash") or header.get("md5") or md5_header,
        )

    def check(self, actual: "Checksums") -> None:
        """Refuse data that is not what its sender meant to send."""
        if self.md5 and self.md5 != actual.md5:
            raise invalid(f'Provided MD5 hash "{self.md5}" doesn\'t match calculated MD5 hash "{actual.md5}".')
        if self.crc32c and self.crc32c != actual.crc32c:
            raise invalid(f'Provided CRC32C "{self.crc32c}" doesn\'t match calculated CRC32C "{actual.crc32c}".')
