"""Byte ranges, in both directions: the part of an object that a reader wants, the part that an uploader brings."""

import re
from dataclasses import dataclass
from typing import Final

from emulator.storage.errors import StorageError, invalid

WANTED: Final = re.compile(r"bytes=(\d*)-(\d*)")
BROUGHT: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


def wanted(header: str | None, size: int) -> slice | None:
    """The part that a `Range` header asks for; None: all of it, as for a header that makes no sense."""
    match = WANTED.fullmatch((header or "").strip())
    if not match or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < int(first):
            return None
    if start >= size or start >= stop:
        raise StorageError(416, "Request range not satisfiable")
    return slice(start, stop)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a `Content-Range` header announces: from where (None: only a question), and how much in all if known."""

    start: int | None
    total: int | None

    @classmethod
    def of(cls, header: str, length: int) -> "Brought":
        match = BROUGHT.fullmatch(header.strip())
        if not match:
            raise invalid(f"Failed to parse Content-Range header: {header!r}")
        first, last, total = match.groups()
        if first is not None and int(last) - int(first) + 1 != length:
            raise invalid(f"Content-Range {header!r} announces another length than the {length} bytes that came.")
        return cls(int(first) if first is not None else None, None if total == "*" else int(total))
