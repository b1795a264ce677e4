"""When a job is due."""

import datetime as dt

import pytest

from emulator.control_plane.cron import Cron
from emulator.control_plane.errors import Refused

MONDAY = dt.datetime(2026, 3, 2, 10, 7, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("schedule", "zone", "due"),
    [
        ("* * * * *", "Etc/UTC", "2026-03-02T10:08"),
        ("0 * * * *", "Etc/UTC", "2026-03-02T11:00"),
        ("0 */4 * * *", "Etc/UTC", "2026-03-02T12:00"),
        ("7 10 * * *", "Etc/UTC", "2026-03-03T10:07"),
        ("5,50 9-10 * * *", "Etc/UTC", "2026-03-02T10:50"),
        ("0 6 * * mon-fri", "Etc/UTC", "2026-03-03T06:00"),
        ("0 6 * * 7", "Etc/UTC", "2026-03-08T06:00"),
        ("0 0 29 feb *", "Etc/UTC", "2028-02-29T00:00"),
        ("0 0 13 * 5", "Etc/UTC", "2026-03-06T00:00"),
        ("30 12 * * *", "Europe/Berlin", "2026-03-02T11:30"),
        ("30 12 1 7 *", "Europe/Berlin", "2026-07-01T10:30"),
    ],
    ids=[
        "every minute", "every hour", "every four hours", "just missed", "lists and spans", "working days",
        "7 is Sunday", "a leap day", "either day is enough", "a time zone", "in summer",
    ],
)  # fmt: skip
def test_the_next_moment(schedule: str, zone: str, due: str) -> None:
    found = Cron.parse(schedule, zone).after(MONDAY)
    assert found == dt.datetime.fromisoformat(due).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize("schedule", ["", "* * * *", "60 * * * *", "* 5-3 * * *", "often * * * *"])
def test_nonsense_is_refused(schedule: str) -> None:
    with pytest.raises(Refused, match="Schedule or time zone is invalid"):
        Cron.parse(schedule)


def test_a_place_without_a_clock_is_refused() -> None:
    with pytest.raises(Refused, match="Mars"):
        Cron.parse("* * * * *", "Mars/Olympus")
