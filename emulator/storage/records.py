"""Buckets and objects as values, and how the JSON API shows them.

An object is never changed: new content is a new generation, new metadata is the same generation with the next
metageneration, and each is a record of its own.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from emulator.storage.checksums import Checksums
from emulator.storage.errors import invalid

METADATA_LIMIT: Final = 8 * 1024
NAME_LIMIT: Final = 1024
BUCKET_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")

# What a client may set. Everything else about an object is the service's to say.
WRITABLE: Final = (
    "cacheControl",
    "contentDisposition",
    "contentEncoding",
    "contentLanguage",
    "contentType",
    "customTime",
    "eventBasedHold",
    "metadata",
    "storageClass",
    "temporaryHold",
)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of one object; `content` is where the disk, or the memory, keeps its bytes."""

    bucket: str
    name: str
    generation: int
    metageneration: int
    size: int
    checksums: Checksums
    created: str
    updated: str
    content: str
    attributes: Mapping[str, Any]
    components: int | None = None

    @property
    def etag(self) -> str:
        return _etag(self.generation, self.metageneration)

    def patched(self, attributes: Mapping[str, Any], now: str) -> "StoredObject":
        return replace(self, attributes=attributes, metageneration=self.metageneration + 1, updated=now)

    def resource(self, host: str) -> dict[str, Any]:
        path = f"storage/v1/b/{self.bucket}/o/{quote(self.name, safe='')}"
        shown = {
            "kind": "storage#object",
            "id": f"{self.bucket}/{self.name}/{self.generation}",
            "selfLink": f"http://{host}/{path}",
            "mediaLink": f"http://{host}/download/{path}?generation={self.generation}&alt=media",
            "name": self.name,
            "bucket": self.bucket,
            "generation": str(self.generation),
            "metageneration": str(self.metageneration),
            "storageClass": "STANDARD",
            "size": str(self.size),
            "md5Hash": self.checksums.md5,
            "crc32c": self.checksums.crc32c,
            "etag": self.etag,
            "timeCreated": self.created,
            "updated": self.updated,
            "timeStorageClassUpdated": self.created,
            "timeFinalized": self.created,
            "componentCount": self.components,
            **self.attributes,
        }
        return {name: value for name, value in shown.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "StoredObject":
        return cls(**{**value, "checksums": Checksums(**value["checksums"])})


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket; its attributes (labels, location, …) are kept as the client gave them."""

    name: str
    metageneration: int
    created: str
    updated: str
    attributes: Mapping[str, Any]

    @property
    def generation(self) -> int:
        """A bucket has none; its conditions are about the metageneration."""
        return 0

    @property
    def etag(self) -> str:
        return _etag(0, self.metageneration)

    def patched(self, attributes: Mapping[str, Any], now: str) -> "Bucket":
        return replace(self, attributes=attributes, metageneration=self.metageneration + 1, updated=now)

    def resource(self, host: str) -> dict[str, Any]:
        return {
            "location": "US",
            "storageClass": "STANDARD",
            **self.attributes,
            "kind": "storage#bucket",
            "id": self.name,
            "selfLink": f"http://{host}/storage/v1/b/{self.name}",
            "name": self.name,
            "projectNumber": "0",
            "metageneration": str(self.metageneration),
            "etag": self.etag,
            "timeCreated": self.created,
            "updated": self.updated,
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def writable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a client's metadata that is the client's to say, checked."""
    chosen = {name: metadata[name] for name in WRITABLE if metadata.get(name) is not None}
    _check_custom(chosen.get("metadata"))
    return chosen


def merged(attributes: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes after a patch: what it names is set, what it names with null is removed, in the custom part too."""
    result = dict(attributes)
    for name, value in changes.items():
        if name == "metadata" and isinstance(value, dict):
            custom = {**result.get("metadata", {}), **value}
            result["metadata"] = {key: text for key, text in custom.items() if text is not None} or None
        else:
            result[name] = value
    return {name: value for name, value in result.items() if value is not None}


def _check_custom(metadata: Any) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise invalid("Invalid value for: metadata is a map of strings.")
    if sum(len(key.encode()) + len(text.encode()) for key, text in metadata.items()) > METADATA_LIMIT:
        raise invalid("The metadata for your request was too large: custom metadata is limited to 8192 bytes.")


def check_object_name(name: str) -> None:
    if not name:
        raise invalid("Required")
    if len(name.encode()) > NAME_LIMIT:
        raise invalid("The maximum object length is 1024 characters, but got a name with more.")
    if name in {".", ".."} or any(character in name for character in "\r\n") or name.startswith(".well-known/acme"):
        raise invalid(f"Invalid object name: {name!r}")


def check_bucket_name(name: str) -> None:
    if not BUCKET_NAME.fullmatch(name) or ".." in name or name.startswith("goog"):
        raise invalid(f"Invalid bucket name: '{name}'")


def timestamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _etag(generation: int, metageneration: int) -> str:
    return base64.b64encode(f"{generation}/{metageneration}".encode()).decode()
