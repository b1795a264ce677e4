"""Structured lines behind a gate: what must not be seen is masked, what is too long is trimmed, and nothing raises.

A log line is never worth a step. Whatever goes wrong while one is made costs that line, not the work.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

MASKED = "[redacted]"
STRING_LIMIT = 4096
ITEMS_LIMIT = 200
DEPTH_LIMIT = 8

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
# Counts of tokens are figures that people need, and no secrets.
_HARMLESS = ("tokencount", "tokenstotal", "totaltokens", "maxoutputtokens")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def redacted(value: object, depth: int = 0) -> object:
    """A value that may be logged: plain, bounded, and without what has to stay secret."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= STRING_LIMIT else value[:STRING_LIMIT] + "…"
    if depth >= DEPTH_LIMIT:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:ITEMS_LIMIT]
        return {str(key): MASKED if _is_secret(str(key)) else redacted(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted(item, depth + 1) for item in list(value)[:ITEMS_LIMIT]]
    if isinstance(value, BaseException):
        # Where it happened is ours to show; what it says may quote a prompt.
        frames = traceback.extract_tb(value.__traceback__)
        return {
            "exception": type(value).__name__,
            "trace": [f"{f.name} {f.filename}:{f.lineno}" for f in frames[-20:]],
        }
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return redacted(str(value), depth + 1)


def _is_secret(key: str) -> bool:
    plain = key.lower().replace("_", "").replace("-", "")
    return any(word in plain for word in _SECRET) and not any(word in plain for word in _HARMLESS)


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
            self.write(json.dumps({**body, **envelope}, ensure_ascii=True, default=str))
        except Exception:  # noqa: BLE001 - by design: a log line never costs a step
            return
