"""Lines of the functions' logs, whoever keeps them: which belong to a run, and how people read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.text import Text

from flowcore.domain.times import from_value

_STYLES = {"WARNING": "yellow", "ERROR": "bold red"}
# Said already, by the command or at the beginning of the line; and what only programs compare.
_ENVELOPE = (
    "severity",
    "event",
    "message",
    "time",
    "timestamp",
    "run_id",
    "service",
    "step_id",
    "step_type",
    "event_id",
)
# Every write of a run is told to every function, and most have nothing to do then.
_IDLE = ("event_noop", "event_ignored")


@dataclass(frozen=True, slots=True)
class Line:
    time: datetime | None
    function: str
    severity: str
    fields: Mapping[str, Any]

    @property
    def event(self) -> str:
        return str(self.fields.get("event") or self.fields.get("message") or "")

    @property
    def idle(self) -> bool:
        return self.event in _IDLE

    def as_data(self) -> dict[str, Any]:
        return {**self.fields, "function": self.function, "severity": self.severity}


def in_order(lines: Iterable[Line]) -> list[Line]:
    """By time; of several functions at the same moment, as they were found."""
    return sorted(lines, key=lambda line: line.time.timestamp() if line.time else 0.0)


def of_run(folder: Path, run_id: str) -> Iterator[Line]:
    """From the log files of a platform on this machine. What is no JSON is the talk of servers, and of no run."""
    for file in sorted(folder.glob("*.log")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            for text in lines:
                fields = _parsed(text) if run_id in text else None
                if fields and fields.get("run_id") == run_id:
                    service = str(fields.get("service") or file.stem)
                    yield Line(from_value(fields.get("time")), service, str(fields.get("severity", "INFO")), fields)


def told(line: Line) -> Text:
    """`12:00:01.250  worker_charts  step_claimed  charts_1M  attempt=1`."""
    clock = f"{line.time.astimezone():%H:%M:%S.%f}"[:-3] if line.time else " " * 12
    rest = " ".join(f"{name}={_short(value)}" for name, value in line.fields.items() if name not in _ENVELOPE)
    step = str(line.fields.get("step_id") or "")
    return Text.assemble(
        (clock, "dim"),
        f"  {line.function:<20}",
        (f"  {line.event}", _STYLES.get(line.severity, "bold")),
        (f"  {step}" if step else "", "cyan"),
        (f"  {rest}" if rest else "", "dim"),
    )


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
