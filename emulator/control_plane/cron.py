"""When a job is due: the five fields of cron, in a time zone, as Cloud Scheduler reads them."""

import datetime as dt
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from emulator.control_plane.errors import invalid

_LOWEST: Final = (0, 0, 1, 1, 0)  # minute, hour, day, month, weekday
_HIGHEST: Final = (59, 23, 31, 12, 7)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: Final = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name: number for number, name in enumerate(_DAYS)},
}
_HORIZON: Final = 366 * 5  # days: the 29th of February comes again within them


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool  # a day of the month and a day of the week are both named: one of them is enough
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, zone: str = "Etc/UTC") -> "Cron":
        fields = text.split()
        if len(fields) != len(_LOWEST):
            raise invalid(f"Schedule or time zone is invalid: {text!r} has not five fields.")
        try:
            place = ZoneInfo(zone or "Etc/UTC")
            minutes, hours, days, months, week = map(_numbers, fields, _LOWEST, _HIGHEST)
        except (ValueError, ZoneInfoNotFoundError) as error:
            raise invalid(f"Schedule or time zone is invalid: {text!r} in {zone}: {error}") from error
        either = not fields[2].startswith("*") and not fields[4].startswith("*")
        return cls(minutes, hours, days, months, frozenset(day % 7 for day in week), either, place)

    def after(self, moment: dt.datetime) -> dt.datetime:
        """The first moment that is due after this one."""
        here = moment.astimezone(self.zone)
        for offset in range(_HORIZON):
            day = here.date() + dt.timedelta(days=offset)
            if not self._has(day):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    due = dt.datetime.combine(day, dt.time(hour, minute), self.zone).astimezone(dt.UTC)
                    if due > moment:
                        return due
        raise invalid("Schedule or time zone is invalid: it is never due.")

    def _has(self, day: dt.date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (in_month or in_week if self.either else in_month and in_week)


def _numbers(field: str, low: int, high: int) -> frozenset[int]:
    """`*`, `5`, `1-5`, `*/4`, `mon-fri`, and any of them between commas."""
    found: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            begin, end = low, high
        else:
            begin = _number(first)
            end = _number(last) if last else (high if step else begin)
        if not low <= begin <= end <= high:
            raise ValueError(f"{part!r} is not within {low} to {high}")
        found.update(range(begin, end + 1, int(step) if step else 1))
    return frozenset(found)


def _number(text: str) -> int:
    return _NAMES[text] if text in _NAMES else int(text)
