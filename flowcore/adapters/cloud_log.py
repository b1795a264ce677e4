"""Structured lines behind a gate: what must not be seen is masked, what is too long is trimmed, and nothing raises.

A log line is never worth a step. Whatever goes wrong while one is made costs that line, not the work.
"""

from __future__ import annotations

import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from itertools import islice
from types import MappingProxyType

MASKED = "[redacted]"
STRING_LIMIT = 4096
ITEMS_LIMIT = 200
DEPTH_LIMIT = 8
LINE_LIMIT = 64_000

# Compared without case, underscores and dashes, anywhere in the key: `x-api-key` and `geminiApiKey` are keys too.
_SECRET = (
    "apikey",
    "token",
    "secret",
    "authorization",
    "credential",
    "password",
    "systeminstruction",
    "userprompt",
    "prompttext",
    "candidatetext",
    "rawoutput",
    "outputtext",
)
_SECRET_ALONE = ("prompt", "completion")
_LEVELS = ("INFO", "WARNING", "ERROR")


def redacted(value: object) -> object:
    """A value that may be logged: plain, bounded, and without what has to stay secret."""
    return _Gate().passed(value, depth=0)


class _Gate:
    """Counts what it lets through: a line has a size, and a value may contain itself."""

    def __init__(self) -> None:
        self.left = LINE_LIMIT

    def passed(self, value: object, depth: int) -> object:
        self.left -= 8
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, str):
            return self._text(value)
        if depth >= DEPTH_LIMIT or self.left <= 0:
            return "…"
        if isinstance(value, Mapping):
            items = islice(value.items(), ITEMS_LIMIT)
            return {self._text(str(key)): self._item(str(key), item, depth) for key, item in items}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.passed(item, depth + 1) for item in islice(value, ITEMS_LIMIT)]
        if isinstance(value, BaseException):
            return self.passed(_whereabouts(value), depth + 1)
        if isinstance(value, Enum | datetime):
            return self._text(str(value))
        # Whatever else it is may hold anything; its type is enough to find it.
        return f"({type(value).__name__})"

    def _item(self, key: str, item: object, depth: int) -> object:
        figure = isinstance(item, int | float)  # counts of tokens are figures that people need
        return MASKED if _is_secret(key) and not figure else self.passed(item, depth + 1)

    def _text(self, text: str) -> str:
        # Written as JSON, an odd character may take twelve.
        size = 1 if text.isascii() and text.isprintable() else 12
        limit = max(0, min(STRING_LIMIT, self.left // size))
        self.left -= size * len(text[:limit])
        return text if len(text) <= limit else text[:limit] + "…"


def _whereabouts(exc: BaseException) -> Mapping[str, object]:
    """Where it happened is ours to show; what it says may quote a prompt."""
    frames = traceback.extract_tb(exc.__traceback__)[-20:]
    return {"exception": type(exc).__name__, "trace": [f"{f.name} {f.filename}:{f.lineno}" for f in frames]}


def _is_secret(key: str) -> bool:
    plain = key.lower().replace("_", "").replace("-", "")
    return plain in _SECRET_ALONE or any(word in plain for word in _SECRET)


@dataclass(frozen=True, slots=True)
class JsonLog:
    """One JSON object a line, as Cloud Logging reads it from standard output."""

    write: Callable[[str], object]
    now: Callable[[], datetime]
    level: str = "INFO"
    fields: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def bind(self, **fields: object) -> JsonLog:
        return JsonLog(self.write, self.now, self.level, {**self.fields, **fields})

    def info(self, event: str, **fields: object) -> None:
        self._line("INFO", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._line("WARNING", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._line("ERROR", event, fields)

    def _line(self, severity: str, event: str, fields: Mapping[str, object]) -> None:
        try:
            if _LEVELS.index(severity) < _LEVELS.index(self.level):
                return
            envelope = {
                "severity": severity,
                "event": event,
                "message": event,
                "time": self.now().isoformat(),
            }
            safe = redacted({**self.fields, **fields})
            body = safe if isinstance(safe, dict) else {}
            self.write(json.dumps({**body, **envelope}))
        except Exception:  # noqa: BLE001 - by design: a log line never costs a step
            return


def standard_output(level: str, service: str) -> JsonLog:
    """All that Cloud Logging needs. One write a line: lines of threads must not run into each other."""

    def write(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    log = JsonLog(write, lambda: datetime.now(UTC), level)
    return log.bind(service=service) if service else log
