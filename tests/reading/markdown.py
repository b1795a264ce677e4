"""As much Markdown as it takes to hold the docs to their word: tables, headings, links and code."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_INLINE_CODE = re.compile(r"(`+)(.+?)\1")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)")
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


@dataclass(frozen=True)
class Table:
    header: list[str]
    rows: list[list[str]]


def prose(text: str) -> list[str]:
    """The lines outside fenced blocks."""
    return [line for line, fenced in _lines(text) if not fenced]


def code(text: str) -> list[str]:
    """Everything set as code: lines of blocks, fenced or indented, and spans."""
    found = [line.strip() for line, fenced in _lines(text) if fenced or line.startswith("    ")]
    return found + [span[1].strip() for line in prose(text) for span in _INLINE_CODE.findall(line)]


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    before = ""
    for line in prose(text):
        if not line.lstrip().startswith("|"):
            pass
        elif not before.startswith("|"):
            found.append(Table(_cells(line), []))
        elif not set(line) <= set("|-: "):
            found[-1].rows.append(_cells(line))
        before = line.lstrip()
    return found


def section(text: str, title: str) -> str:
    """What stands below the heading, down to the next one of its rank; nothing when it is not there."""
    kept: list[str] = []
    rank = 0
    for line, fenced in _lines(text):
        heading = None if fenced else _HEADING.match(line)
        if heading and rank and len(heading[1]) <= rank:
            break
        if rank:
            kept.append(line)
        elif heading and heading[2].strip().lower() == title.lower():
            rank = len(heading[1])
    return "\n".join(kept)


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to headings (-1, -2, … when they repeat), and those set by hand."""
    seen: Counter[str] = Counter()
    found = set(_ANCHOR.findall(text))
    for line in prose(text):
        if heading := _HEADING.match(line):
            slug = _slug(heading[2])
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def links(text: str) -> list[str]:
    lines = [_INLINE_CODE.sub("``", line) for line in prose(text)]
    references = [reference[1] for line in lines if (reference := _REFERENCE.match(line))]
    return references + [target for line in lines for target in _LINK.findall(line)]


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is fenced off as code; the fences themselves are left out."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        else:
            yield line, bool(fence)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _slug(title: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
