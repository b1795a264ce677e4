"""Quotas: what a document says, what one more chart makes of it, and that no unit is spent twice."""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from flowcore.domain.errors import Code, NetworkError
from flowcore.ports import DOCUMENT_CALL, Conflict, Document
from flowcore.testing.world import T0
from functions.worker_charts.usage import RACES, Usage, counted, next_day, opens_at

TODAY, TOMORROW = "2025-12-24T00:00:00Z", "2025-12-25T00:00:00Z"
MIDNIGHT = datetime.fromisoformat(TOMORROW)


class Shelf:
    """Documents with update times, and somebody who may meddle before a write lands."""

    def __init__(self, **fields: object) -> None:
        self.found = Document(fields, T0) if fields else None
        self.meddlers = 0
        self.lock = threading.Lock()

    def find(self, path: str, timeout: float = DOCUMENT_CALL) -> Document | None:
        return self.found

    def create(self, path: str, fields: Mapping[str, object], timeout: float = DOCUMENT_CALL) -> None:
        with self.lock:
            self._meddle()
            if self.found:
                raise Conflict(path)
            self.found = Document(dict(fields), T0)

    def update(
        self, path: str, fields: Mapping[str, object], update_time: datetime, timeout: float = DOCUMENT_CALL
    ) -> None:
        with self.lock:
            self._meddle()
            if not self.found or self.found.update_time != update_time:
                raise Conflict(path)
            self.found = Document({**self.found.fields, **fields}, update_time + timedelta(microseconds=1))

    def _meddle(self) -> None:
        if self.meddlers:
            self.meddlers -= 1
            then = self.found.update_time if self.found else T0
            fields = counted(self.found.fields if self.found else {}, T0)
            self.found = Document(fields, then + timedelta(seconds=1))


def fields_of(shelf: Shelf) -> dict[str, object]:
    assert shelf.found
    return dict(shelf.found.fields)


@pytest.mark.parametrize(
    ("fields", "opens"),
    [
        ({}, None),
        ({"windowStart": TODAY, "usageToday": 2}, None),
        ({"windowStart": TODAY, "usageToday": 3}, MIDNIGHT),
        ({"windowStart": "2025-12-23T00:00:00Z", "usageToday": 3}, None),
        ({"windowStart": TOMORROW, "usageToday": 3}, MIDNIGHT),
        ({"windowStart": TODAY, "usageToday": 3, "dailyLimit": 4}, None),
        ({"windowStart": TODAY, "usageToday": 1, "dailyLimit": 1}, MIDNIGHT),
        ({"dailyLimit": 0}, MIDNIGHT),
        ({"dailyLimit": "many"}, None),
        ({"windowStart": TODAY, "usageToday": "3"}, None),
        ({"windowStart": TODAY, "usageToday": True}, None),
        ({"exhaustedUntil": "2025-12-24T13:00:00Z"}, T0 + timedelta(hours=1)),
        ({"exhaustedUntil": "2025-12-24T12:00:00Z"}, None),
    ],
)
def test_whether_an_account_has_a_unit(fields: dict[str, object], opens: datetime | None) -> None:
    assert opens_at(fields, 3, T0) == opens


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        ({}, {"windowStart": TODAY, "usageToday": 1}),
        ({"windowStart": TODAY, "usageToday": 7}, {"windowStart": TODAY, "usageToday": 8}),
        ({"windowStart": "2025-12-23T00:00:00Z", "usageToday": 44}, {"windowStart": TODAY, "usageToday": 1}),
        ({"windowStart": TOMORROW, "usageToday": 2}, {"windowStart": TOMORROW, "usageToday": 3}),
        ({"windowStart": "nonsense", "usageToday": 2}, {"windowStart": TODAY, "usageToday": 1}),
    ],
    ids=["first ever", "today", "yesterday", "a clock ahead of ours", "nonsense"],
)
def test_one_more(fields: dict[str, object], after: dict[str, object]) -> None:
    assert counted(fields, T0) == after


def test_the_day_ends_at_midnight_utc() -> None:
    assert next_day(T0) == MIDNIGHT
    assert next_day(MIDNIGHT) == MIDNIGHT + timedelta(days=1)
    assert next_day(datetime.fromisoformat("2025-12-25T01:30:00+02:00")) == MIDNIGHT


def test_a_unit_is_counted_before_it_is_used() -> None:
    shelf = Shelf()
    assert Usage(shelf).take("a", 2, T0, 1.0) is None
    assert Usage(shelf).take("a", 2, T0, 1.0) is None
    assert Usage(shelf).take("a", 2, T0, 1.0) == MIDNIGHT
    assert fields_of(shelf) == {"windowStart": TODAY, "usageToday": 2}


@pytest.mark.parametrize("before", [{}, {"windowStart": TODAY, "usageToday": 1}], ids=["new", "known"])
def test_after_a_lost_race_it_is_counted_on_what_the_other_wrote(before: dict[str, object]) -> None:
    shelf = Shelf(**before)
    shelf.meddlers = 2
    assert Usage(shelf).take("a", 9, T0, 1.0) is None
    assert fields_of(shelf)["usageToday"] == len(before) // 2 + 3


def test_the_last_unit_goes_to_one_alone() -> None:
    shelf = Shelf(windowStart=TODAY, usageToday=8)
    shelf.meddlers = 1
    assert Usage(shelf).take("a", 9, T0, 1.0) == MIDNIGHT
    assert fields_of(shelf)["usageToday"] == 9


def test_races_that_never_end_are_silence() -> None:
    shelf = Shelf()
    shelf.meddlers = RACES
    with pytest.raises(NetworkError) as lost:
        Usage(shelf).take("a", 99, T0, 1.0)
    assert lost.value.error.code == Code.FIRESTORE_UNAVAILABLE


def test_twenty_at_once_spend_no_unit_twice() -> None:
    shelf = Shelf()
    taken: list[datetime | None] = []

    def work() -> None:
        while True:
            try:
                taken.append(Usage(shelf).take("a", 7, T0, 1.0))
            except NetworkError:
                continue
            return

    workers = [threading.Thread(target=work) for _ in range(20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=20)
    assert (taken.count(None), taken.count(MIDNIGHT)) == (7, 13)
    assert fields_of(shelf)["usageToday"] == 7


def test_a_closed_account_keeps_its_count() -> None:
    shelf = Shelf(windowStart=TODAY, usageToday=5)
    Usage(shelf).close("a", MIDNIGHT, 1.0)
    assert fields_of(shelf) == {"windowStart": TODAY, "usageToday": 5, "exhaustedUntil": TOMORROW}
    assert Usage(shelf).take("a", 44, T0, 1.0) == MIDNIGHT
