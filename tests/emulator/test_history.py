"""The history is complete for whoever reads in time, says what it dropped, and never repeats itself."""

import json
from pathlib import Path
from threading import Timer

from emulator.history import History


def filled(count: int, capacity: int = 100) -> History:
    history = History(capacity=capacity, clock=lambda: 7.0)
    for number in range(count):
        history.record("call", "storage", "objects.get", f"b/{number}")
    return history


def test_records_come_in_order_with_everything_that_was_said() -> None:
    history = History(clock=lambda: 7.0)
    history.record("object", "storage", "objects.insert", "b/o", generation=5)
    (record,) = history.since().records
    assert record.as_json() == {
        "sequence": 1,
        "time": 7.0,
        "kind": "object",
        "service": "storage",
        "method": "objects.insert",
        "resource": "b/o",
        "detail": {"generation": 5},
    }


def test_reader_goes_on_where_it_stopped() -> None:
    history = filled(10)
    seen, position = [], 0
    while (page := history.since(position, limit=3)).records:
        seen += [record.sequence for record in page.records]
        position = page.next
    assert seen == list(range(1, 11))
    assert history.since(position).next == position


def test_reader_who_comes_late_is_told_what_was_dropped() -> None:
    page = filled(10, capacity=4).since(2)
    assert [record.sequence for record in page.records] == [7, 8, 9, 10]
    assert (page.dropped, page.next) == (4, 10)


def test_large_records_make_room_for_the_newest() -> None:
    history = History(most_bytes=250)
    for number in range(5):
        history.record_large("write", "firestore", "update", f"runs/{number}", 100, dict)
    page = history.since()
    assert ([record.sequence for record in page.records], page.dropped) == ([4, 5], 3)
    history.clear()
    history.record_large("write", "firestore", "update", "runs/5", 200, dict)
    assert [record.sequence for record in history.since().records] == [6]


def test_record_that_is_larger_than_all_memory_is_told_as_dropped() -> None:
    history = History(most_bytes=250)
    history.record_large("write", "firestore", "update", "runs/0", 1000, dict)
    assert (history.since().records, history.since().dropped) == ((), 1)


def test_what_nobody_reads_is_never_put_into_words() -> None:
    history, told = History(), []

    def tell() -> dict[str, int]:
        told.append("once")
        return {"n": 1}

    record = history.record_large("write", "firestore", "update", "runs/0", 10, tell)
    assert history.of("write") == [record]
    assert told == []
    assert record.detail == {"n": 1}


def test_cleared_history_goes_on_counting() -> None:
    history = filled(3)
    history.clear()
    assert history.since().records == ()
    assert history.record("call", "storage", "objects.get", "b/o").sequence == 4


def test_reader_can_wait_for_news() -> None:
    history = filled(1)
    Timer(0.05, history.record, ("write", "firestore", "Commit", "runs/a")).start()
    (news,) = history.since(1, wait=5).records
    assert news.kind == "write"
    assert history.since(2, wait=0.01).records == ()


def test_records_are_found_by_kind_and_service() -> None:
    history = filled(2)
    history.record("write", "firestore", "Commit", "runs/a")
    assert len(history.of("call")) == 2
    assert len(history.of(service="firestore")) == 1
    assert history.of("write", service="storage") == []


def kept(path: Path) -> list[tuple[int, str]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["sequence"], line["resource"]) for line in lines]


def test_file_keeps_what_memory_drops(tmp_path: Path) -> None:
    history = History(capacity=1)
    history.keep(tmp_path / "history.jsonl")
    for number in range(5):
        history.record("call", "storage", "objects.get", f"b/{number}")
    history.close()
    history.record("call", "storage", "objects.get", "b/after the end")
    assert kept(tmp_path / "history.jsonl") == [(number + 1, f"b/{number}") for number in range(5)]


def test_another_life_goes_on_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"sequence": 7, "resource": "b/old"}\n{"sequence": 8, "reso')  # killed while it wrote
    history = History()
    history.keep(path)
    history.record("call", "storage", "objects.get", "b/new")
    history.close()
    assert kept(path) == [(7, "b/old"), (8, "b/new")]
    assert history.since().dropped == 7
