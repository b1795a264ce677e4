"""How the page speaks: statuses, times, durations and errors, the way a person would say them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowcore.domain.errors import REGISTRY, Code, StepError

# A mark beside the word: neither colour nor sight is needed to tell them apart.
_MARKS = {
    "SUCCEEDED": "✓",
    "FAILED": "✕",
    "RUNNING": "▸",
    "READY": "○",
    "PENDING": "○",
    "SKIPPED": "»",
    "CANCELLED": "–",
}
_TIMEFRAMES = {
    "1M": "Monthly",
    "1w": "Weekly",
    "1d": "Daily",
    "4h": "Four-hourly",
    "1h": "Hourly",
    "15": "15-minute",
    "5": "5-minute",
    "1": "1-minute",
}
_UNKNOWN_CODE = "An error that this version has no words for."
# Neither a browser nor UTF-8 has a use for these; texts from outside may hold them all the same.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


@dataclass(frozen=True, slots=True)
class Badge:
    """`tone` is the name of a colour in the style sheet."""

    word: str
    mark: str
    tone: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error for people: what this kind of error means, then what happened this time."""

    code: str
    words: str
    message: str


def badge(status: str) -> Badge:
    return Badge(status.capitalize(), _MARKS[status], status.lower())


def trouble(error: StepError) -> Trouble:
    words = REGISTRY[Code(error.code)].words if error.code in REGISTRY else _UNKNOWN_CODE
    return Trouble(str(error.code), words, error.message if error.message != words else "")


def moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    """Two units at most: nobody compares hours by their milliseconds."""
    seconds = max(0.0, length.total_seconds())
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return _two(whole, 60, "min", 1, "s")
    if whole < 86_400:
        return _two(whole, 3_600, "h", 60, "min")
    return _two(whole, 86_400, "d", 3_600, "h")


def timeframe(name: str | None) -> str:
    """`Weekly (1w)`; one that has no name of its own stays as it is."""
    if not name:
        return ""
    return f"{_TIMEFRAMES[name]} ({name})" if name in _TIMEFRAMES else name


def label(key: str) -> str:
    """`volatilityPercent` as a heading: Volatility percent."""
    words = " ".join(part if part.isupper() else part.lower() for part in _HUMPS.split(key) if part)
    return words[:1].upper() + words[1:] if words else key


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def counted(count: int, one: str, many: str) -> str:
    return f"{number(count)} {one if count == 1 else many}"


def printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
