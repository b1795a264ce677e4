"""Names: of databases, collections, documents and fields; what they may look like, and how they sort.

projects/P/databases/D/documents/flow_runs/r1/steps/s1
└────────── root ──────────────┘ └─ collection ──┘ └ id
"""

import re
from typing import Final

from emulator.firestore.errors import invalid

MAX_ID_BYTES: Final = 1500
MAX_NAME_BYTES: Final = 6144  # 6 KiB
MAX_COLLECTIONS: Final = 100

_ROOT = re.compile(r"(projects/[^/]+/databases/[^/]+)(?:/documents(?:/(.+))?)?")
_RESERVED = re.compile(r"__.*__")
_NUMERIC_ID = re.compile(r"__id(-?\d+)__")
_PLAIN_FIELD = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*")
_FIELD = re.compile(r"([a-zA-Z_][a-zA-Z_0-9]*)|`((?:[^`\\]|\\.)+)`")

FieldPath = tuple[str, ...]
NAME: Final[FieldPath] = ("__name__",)


# --- documents and collections ---------------------------------------------------------------------------------


def database_of(name: str) -> str:
    """`projects/P/databases/D`, of itself or of anything in it."""
    match = _ROOT.fullmatch(name)
    if not match:
        raise invalid(f'Name "{name}" does not start with projects/{{project}}/databases/{{database}}.')
    return match[1]


def relative(name: str) -> str:
    """The path below `documents/`; empty for the root."""
    match = _ROOT.fullmatch(name)
    return (match[2] or "") if match else name


def collection_of(name: str) -> str:
    """The collection that a document is in."""
    return name.rpartition("/")[0]


def parent_of(collection: str) -> str:
    """The document, or the root, that a collection is in."""
    return collection.rpartition("/")[0]


def last(name: str) -> str:
    """The id at the end of any name."""
    return name.rpartition("/")[2]


def check_document(name: str) -> None:
    """Refuse a name that no document can have."""
    segments = _checked_segments(name)
    if not segments or len(segments) % 2:
        raise invalid(f'Document name "{name}" lacks "/" at index {len(name)}.')


def check_parent(name: str) -> None:
    """Refuse a name that is neither the root nor a document's."""
    if len(_checked_segments(name)) % 2:
        raise invalid(f'Parent "{name}" is neither a database\'s documents nor a document.')


def check_id(segment: str, *, collection: bool) -> None:
    """Refuse an id that can be neither a document's nor a collection's."""
    if not segment or segment in {".", ".."} or "/" in segment:
        raise invalid(f'Resource id "{segment}" is invalid.')
    if len(segment.encode()) > MAX_ID_BYTES:
        raise invalid(f"The key path element {'kind' if collection else 'name'} is longer than {MAX_ID_BYTES} bytes.")
    if _RESERVED.fullmatch(segment) and not _NUMERIC_ID.fullmatch(segment):
        raise invalid(f'{"Collection" if collection else "Resource"} id "{segment}" is invalid because it is reserved.')


def sort_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Names sort segment by segment, numeric ids first; `a/b` before `a/b/c/d` before `a-/b`."""
    return tuple(_segment_key(segment) for segment in name.split("/"))


def _segment_key(segment: str) -> tuple[int, int, str]:
    numeric = _NUMERIC_ID.fullmatch(segment)
    return (0, int(numeric[1]), "") if numeric else (1, 0, segment)


def _checked_segments(name: str) -> list[str]:
    database_of(name)
    path = relative(name)
    if not path:
        return []
    segments = path.split("/")
    for position, segment in enumerate(segments):
        check_id(segment, collection=position % 2 == 0)
    if len(name.encode()) > MAX_NAME_BYTES:
        raise invalid(f"The document name is longer than {MAX_NAME_BYTES} bytes.")
    if len(segments) > 2 * MAX_COLLECTIONS:
        raise invalid(f"The document name has more than {MAX_COLLECTIONS} collections.")
    return segments


# --- fields ----------------------------------------------------------------------------------------------------


def parse_field(text: str) -> FieldPath:
    """The segments of `a.b.c`; one that is not an identifier stands in back-ticks."""
    path: list[str] = []
    position = 0
    while True:
        match = _FIELD.match(text, position)
        if not match:
            raise _not_a_field(text)
        path.append(match[1] or re.sub(r"\\(.)", r"\1", match[2]))
        position = match.end()
        if position == len(text):
            return tuple(path)
        if text[position] != ".":
            raise _not_a_field(text)
        position += 1


def spell_field(path: FieldPath) -> str:
    """The inverse of `parse_field`."""
    return ".".join(segment if _PLAIN_FIELD.fullmatch(segment) else _quoted(segment) for segment in path)


def check_field_name(name: str) -> None:
    """Refuse a name that no stored field can have."""
    if not name:
        raise invalid("The property.name is the empty string.")
    if len(name.encode()) > MAX_ID_BYTES:
        raise invalid(f"The property.name is longer than {MAX_ID_BYTES} bytes.")
    if _RESERVED.fullmatch(name):
        raise invalid(f"field name {name} is reserved")


def _quoted(segment: str) -> str:
    return "`" + segment.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _not_a_field(text: str) -> Exception:
    return invalid(
        f'Invalid property path "{text}". Unquoted property paths must match regex ([a-zA-Z_][a-zA-Z_0-9]*), and '
        r"quoted property paths must match regex (`(?:[^`\\]|(?:\\.))+`)"
    )
