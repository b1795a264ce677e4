"""One page of a bucket: names in order, folded at the delimiter, cut at the page size."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from emulator.storage.errors import invalid
from emulator.storage.records import StoredObject

LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Wish:
    """What a list request asks for."""

    prefix: str = ""
    delimiter: str = ""
    start: str = ""
    end: str = ""
    after: str = ""
    size: int = LARGEST_PAGE
    trailing: bool = False

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Wish":
        return cls(
            prefix=query.get("prefix", ""),
            delimiter=query.get("delimiter", ""),
            start=query.get("startOffset", ""),
            end=query.get("endOffset", ""),
            after=last_seen(query.get("pageToken", "")),
            size=page_size(query),
            trailing=query.get("includeTrailingDelimiter", "").lower() == "true",
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects, folders that only names know of, and where to go on."""

    objects: list[StoredObject]
    prefixes: list[str]
    token: str | None


def listed(objects: Iterable[StoredObject], wish: Wish) -> Listing:
    """The page that the wish describes, of objects in order."""
    rows = list(islice(_rows(objects, wish), wish.size + 1))
    page = rows[: wish.size]
    prefixes = list(dict.fromkeys(row for row in page if isinstance(row, str)))
    token = token_after(_key(page[-1])) if page and len(rows) > wish.size else None
    return Listing([row for row in page if not isinstance(row, str)], prefixes, token)


def page_size(query: Mapping[str, str]) -> int:
    text = query.get("maxResults", str(LARGEST_PAGE))
    if not text.isdigit() or int(text) == 0:
        raise invalid(f"Invalid value for maxResults: {text!r} is not a positive integer.")
    return min(int(text), LARGEST_PAGE)


def token_after(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def last_seen(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        raise invalid(f"Invalid page token: {token!r}") from None


def _rows(objects: Iterable[StoredObject], wish: Wish) -> Iterable[StoredObject | str]:
    """Objects and folders in one order: a page may end at either. A folder counts where its name stands, once."""
    seen = wish.after
    for row in _folded(objects, wish):
        if _key(row) > seen:
            seen = _key(row)
            yield row


def _folded(objects: Iterable[StoredObject], wish: Wish) -> Iterable[StoredObject | str]:
    for found in objects:
        if wish.end and found.name >= wish.end:
            return
        if not found.name.startswith(wish.prefix) or found.name < wish.start:
            continue
        folder = _folder(found.name, wish)
        if folder is not None:
            yield folder
        if folder is None or (wish.trailing and found.name == folder):
            yield found


def _folder(name: str, wish: Wish) -> str | None:
    if not wish.delimiter:
        return None
    head, delimiter, _ = name[len(wish.prefix) :].partition(wish.delimiter)
    return wish.prefix + head + delimiter if delimiter else None


def _key(row: StoredObject | str) -> str:
    """Where a row stands: a folder just before the object that may have the same name."""
    return row if isinstance(row, str) else f"{row.name}\0"
