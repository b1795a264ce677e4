"""An example of what a regular expression matches, for the patterns that people write into schemas.

The expression is read with the standard library's own parser and walked once, taking the first way at every fork.
Look-arounds and back-references are not understood; whatever comes out is tried against the expression itself.
"""

import re
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any, Final

PRINTABLE: Final[list[str]] = [
    *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ",
    *map(chr, range(33, 127)),
]
SPARE: Final = 1000  # how much longer than its shortest an example may be made to reach a length


def example(pattern: str, least: int = 0) -> str | None:
    """A text of at least that length that the pattern matches; None, when none was found."""
    try:
        parsed = parser.parse(pattern)
    except re.error:
        return None
    for extra in range(min(least, SPARE) + 1):
        text = _sequence(parsed, extra)
        if len(text) >= least and re.search(pattern, text):
            return text
    return None


def _sequence(items: Iterable[Any], extra: int) -> str:
    return "".join(_one(str(kind), value, extra) for kind, value in items)


def _one(kind: str, value: Any, extra: int) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return next(mark for mark in PRINTABLE if ord(mark) != value)
        case "ANY":
            return PRINTABLE[0]
        case "IN":
            return _member(value)
        case "BRANCH":
            return _sequence(value[1][0], extra)
        case "SUBPATTERN":
            return _sequence(value[-1], extra)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            fewest, most, body = value
            return _sequence(body, extra) * min(int(most), max(int(fewest), extra))
    return ""  # an anchor, or something that is not understood


def _member(choices: Iterable[Any]) -> str:
    """A character of a class; asked of the class itself, so that ranges, categories and negations need no rules."""
    listed = list(choices)
    negated = bool(listed) and str(listed[0][0]) == "NEGATE"
    for mark in PRINTABLE:
        if any(_includes(str(kind), value, mark) for kind, value in listed) != negated:
            return mark
    return ""


def _includes(kind: str, value: Any, mark: str) -> bool:
    match kind:
        case "LITERAL":
            return chr(value) == mark
        case "RANGE":
            return bool(value[0] <= ord(mark) <= value[1])
        case "CATEGORY":
            category = str(value)
            is_kind = {
                "DIGIT": mark.isdigit(),
                "SPACE": mark.isspace(),
                "WORD": mark.isalnum() or mark == "_",
            }[category.rpartition("_")[2]]
            return is_kind != ("_NOT_" in category)
    return False
