"""Time, chance and the log, in the hands of a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

T0 = datetime(2025, 12, 24, 12, 0, tzinfo=UTC)


@dataclass(slots=True)
class ManualClock:
    """Stands still until it is moved; sleeping moves it, and is remembered."""

    moment: datetime = T0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return (self.moment - T0).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass(slots=True)
class CountedChance:
    """Tokens are counted and luck is what the test says."""

    fortune: float = 0.5
    tokens: int = 0

    def token(self) -> str:
        self.tokens += 1
        return f"token-{self.tokens}"

    def luck(self) -> float:
        return self.fortune


@dataclass(slots=True)
class MemoryLog:
    """Every line as (severity, event, fields), shared with the logs bound from this one."""

    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    bound: dict[str, object] = field(default_factory=dict)

    def bind(self, **fields: object) -> MemoryLog:
        return MemoryLog(self.lines, {**self.bound, **fields})

    def info(self, event: str, **fields: object) -> None:
        self.lines.append(("INFO", event, {**self.bound, **fields}))

    def warning(self, event: str, **fields: object) -> None:
        self.lines.append(("WARNING", event, {**self.bound, **fields}))

    def error(self, event: str, **fields: object) -> None:
        self.lines.append(("ERROR", event, {**self.bound, **fields}))

    def events(self) -> list[str]:
        return [event for _, event, _ in self.lines]

    def last(self, event: str) -> dict[str, object]:
        return next(fields for _, name, fields in reversed(self.lines) if name == event)
