"""When each step waited and when it ran, as bars on one common scale.

Positions are percentages of the whole width: the page can then be as wide as it likes without a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from flowcore.cli.report import words
from flowcore.cli.report.fields import map_at, whole_at
from flowcore.domain.model import Step, StepStatus
from flowcore.domain.times import from_value

_THINNEST = 0.5  # percent: a moment in a long run can still be seen
_ROOM_FOR_A_NUMBER = 3.0
_ROUND = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1_200,
    1_800,
    3_600,
    7_200,
    14_400,
    21_600,
    43_200,
    86_400,
)
_MOST_TICKS = 6
_ERA = 10**12  # milliseconds; no step takes thirty years, whatever it says


@dataclass(frozen=True, slots=True)
class Spell:
    """What a step did from one moment to another; `tone` is how it ended, or goes on. "ended": it never ran."""

    kind: Literal["waited", "ran", "ended"]
    start: datetime
    end: datetime
    tone: str
    attempt: int = 0

    @property
    def length(self) -> timedelta:
        return max(timedelta(0), self.end - self.start)


@dataclass(frozen=True, slots=True)
class Bar:
    kind: str
    tone: str
    x: float
    width: float
    says: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Lane:
    step: Step
    bars: Sequence[Bar]
    waited: timedelta | None
    ran: timedelta | None
    says: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    says: str
    anchor: Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Timeline:
    lanes: Sequence[Lane]
    ticks: Sequence[Tick]


def timeline(ordered: Sequence[Step], began: datetime | None, until: datetime) -> Timeline:
    """`until` is where bars end that have no end yet: now, or when the run was finished."""
    spells = {step.step_id: list(_spells(step, until)) for step in ordered}
    moments = [moment for told in spells.values() for spell in told for moment in (spell.start, spell.end)]
    start = min([*moments, *([began] if began else [])], default=until)
    end = max([*moments, until], default=until)
    scale = _Scale(start, max((end - start).total_seconds(), 0.001))
    return Timeline([_lane(step, spells[step.step_id], scale) for step in ordered], list(scale.ticks()))


@dataclass(frozen=True, slots=True)
class _Scale:
    start: datetime
    seconds: float

    def percent(self, moment: datetime) -> float:
        return round((moment - self.start).total_seconds() / self.seconds * 100, 3)

    def bar(self, spell: Spell, *, numbered: bool) -> Bar:
        width = max(_THINNEST, round(spell.length.total_seconds() / self.seconds * 100, 3))
        x = min(self.percent(spell.start), 100 - width)
        number = spell.attempt if numbered and spell.kind == "ran" and width >= _ROOM_FOR_A_NUMBER else None
        return Bar(spell.kind, spell.tone, round(x, 3), width, _says(spell, numbered=numbered), number)

    def ticks(self) -> Iterator[Tick]:
        step = next((length for length in _ROUND if self.seconds / length <= _MOST_TICKS), None)
        if step is None:
            step = (int(self.seconds / 86_400 / _MOST_TICKS) + 1) * 86_400
        for count in range(int(self.seconds / step) + 1):
            x = round(count * step / self.seconds * 100, 3)
            anchor: Literal["start", "middle", "end"] = "start" if x < 4 else "end" if x > 94 else "middle"
            says = words.duration(timedelta(seconds=count * step)).replace(".0 ", " ")
            yield Tick(x, says if count else "0", anchor)


def _lane(step: Step, spells: Sequence[Spell], scale: _Scale) -> Lane:
    several = sum(spell.kind == "ran" for spell in spells) > 1
    said = [_says(spell, numbered=several) for spell in spells]
    ran = _total(spell.length for spell in spells if spell.kind == "ran")
    return Lane(
        step,
        [scale.bar(spell, numbered=several) for spell in spells],
        _total(spell.length for spell in spells if spell.kind == "waited"),
        _told(step) if ran is None else ran,
        ", ".join([*said, words.badge(step.status).word.lower()]),
    )


def _spells(step: Step, until: datetime) -> Iterator[Spell]:
    """What is known of a step's life: its earlier attempts as they were put on record, then where it stands now."""
    waiting_since: datetime | None = None
    for entry in step.attempts:
        ended = from_value(entry.get("finishedAt"))
        started = from_value(entry.get("startedAt")) or ended
        if not started:
            continue
        if waiting_since:
            yield Spell("waited", waiting_since, started, "waiting")
        yield Spell("ran", started, ended or started, "failed", whole_at(entry, "attempt") or 0)
        waiting_since = ended or started
    yield from _latest(step, waiting_since or step.ready_at, until)


def _latest(step: Step, waiting_since: datetime | None, until: datetime) -> Iterator[Spell]:
    tone = step.status.lower()
    timing = map_at(step.outputs, "execution", "timing")
    started = step.started_at or from_value(timing.get("startedAt"))
    finished = step.finished_at or from_value(timing.get("finishedAt"))
    if started:
        if waiting_since and waiting_since < started:
            yield Spell("waited", waiting_since, started, "waiting")
        yield Spell("ran", started, max(started, finished or until), tone, step.attempt)
    elif finished:
        # It never ran: FAILED for want of a worker, SKIPPED, CANCELLED, or too old to tell.
        if waiting_since and waiting_since < finished:
            yield Spell("waited", waiting_since, finished, "waiting")
        yield Spell("ended", finished, finished, tone)
    elif waiting_since and step.status in (StepStatus.READY, StepStatus.PENDING) and waiting_since < until:
        yield Spell("waited", waiting_since, until, "waiting")


def _says(spell: Spell, *, numbered: bool) -> str:
    length = words.duration(spell.length)
    if spell.kind == "waited":
        return f"waited {length}"
    if spell.kind == "ended":
        return "did not run"
    ran = f"attempt {spell.attempt}: {length}" if numbered and spell.attempt else f"ran {length}"
    return f"{ran}, failed" if spell.tone == "failed" else ran


def _total(lengths: Iterable[timedelta]) -> timedelta | None:
    given = list(lengths)
    return sum(given, timedelta(0)) if given else None


def _told(step: Step) -> timedelta | None:
    """What the worker said itself, where the moments are missing."""
    told = whole_at(step.outputs, "execution", "timing", "durationMs")
    return timedelta(milliseconds=told) if told is not None and 0 <= told < _ERA else None
