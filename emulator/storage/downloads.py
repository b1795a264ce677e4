"""The content of an object on its way out: all of it or a range, with everything a reader needs to check it."""

import gzip
import re
from datetime import datetime
from email.utils import format_datetime

from emulator.storage.errors import StorageError
from emulator.storage.ranges import wanted
from emulator.storage.records import StoredObject
from emulator.web import Reply, Request

SHOWN = {
    "cacheControl": "Cache-Control",
    "contentDisposition": "Content-Disposition",
    "contentEncoding": "Content-Encoding",
    "contentLanguage": "Content-Language",
    "contentType": "Content-Type",
}

HEADER = re.compile(r"[A-Za-z0-9_.-]+")  # custom metadata may have any name, a header may not


def downloaded(request: Request, found: StoredObject, data: bytes) -> Reply:
    headers = _headers(found)
    if headers.get("Content-Encoding") == "gzip" and "gzip" not in request.headers.get("Accept-Encoding", ""):
        del headers["Content-Encoding"]  # stored compressed for a reader who cannot unpack: the service does, in full
        return Reply(200, gzip.decompress(data), headers)
    try:
        part = wanted(request.headers.get("Range"), len(data))
    except StorageError as error:
        return Reply(error.code, error.message.encode(), {"Content-Range": f"bytes */{len(data)}"})
    if part is None:
        return Reply(200, data, headers)
    return Reply(206, data[part], headers | {"Content-Range": f"bytes {part.start}-{part.stop - 1}/{len(data)}"})


def _headers(found: StoredObject) -> dict[str, str]:
    hashes = {"crc32c": found.checksums.crc32c, "md5": found.checksums.md5}
    custom = found.attributes.get("metadata") or {}
    return {
        "Content-Type": "application/octet-stream",
        "Accept-Ranges": "bytes",
        "ETag": found.etag,
        "Last-Modified": format_datetime(datetime.fromisoformat(found.updated), usegmt=True),
        "X-Goog-Generation": str(found.generation),
        "X-Goog-Metageneration": str(found.metageneration),
        "X-Goog-Hash": ",".join(f"{name}={value}" for name, value in hashes.items() if value),
        "X-Goog-Storage-Class": "STANDARD",
        "X-Goog-Stored-Content-Encoding": str(found.attributes.get("contentEncoding", "identity")),
        "X-Goog-Stored-Content-Length": str(found.size),
        **{f"X-Goog-Meta-{key}": value for key, value in custom.items() if HEADER.fullmatch(key)},
        **{header: str(found.attributes[name]) for name, header in SHOWN.items() if name in found.attributes},
    }
