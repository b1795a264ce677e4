"""What is not yet delivered outlives the platform."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.eventarc import EventarcServer, Subscription
from emulator.eventarc import journal as module
from emulator.eventarc.events import Event
from emulator.eventarc.journal import Journal
from emulator.eventarc.retrying import KEPT_FOR
from emulator.faults import Faults, status
from emulator.firestore.server import FirestoreServer
from tests.emulator.eventarc.receiver import Receiver, eventually
from tests.emulator.firestore.client import connected


@contextmanager
def a_life(folder: Path, receiver: Receiver, *, scale: float = 1000.0, later: float = 0.0) -> Iterator[EventarcServer]:
    store = FirestoreServer(data_dir=folder).start()
    eventarc = EventarcServer(
        store, data_dir=folder, faults=Faults(), time_scale=scale, wall_clock=lambda: time.time() + later
    )
    eventarc.subscribe(Subscription("f", receiver.url, "runs/{id}"))
    eventarc.start()
    yield eventarc
    eventarc.stop()
    store.stop()


def write(eventarc: EventarcServer, value: int) -> None:
    assert isinstance(eventarc._firestore, FirestoreServer)
    with connected(eventarc._firestore.host, "p") as db:
        db.document(f"runs/r{value}").set({"v": value})


def test_an_undelivered_event_is_delivered_in_the_next_life(tmp_path: Path) -> None:
    receiver = Receiver()
    with a_life(tmp_path, receiver, scale=1.0) as eventarc:
        eventarc.faults.add(service="eventarc", action=status(500))
        write(eventarc, 1)
        assert eventually(lambda: eventarc.faults.calls.count("eventarc") == 1)
    assert receiver.values == []
    with a_life(tmp_path, receiver) as eventarc:
        assert eventarc.settled(5)
    assert receiver.values == [1]
    with a_life(tmp_path, receiver) as eventarc:
        assert eventarc.settled(5)
    receiver.stop()
    assert receiver.values == [1]


def test_the_day_of_an_event_goes_on_in_the_next_life(tmp_path: Path) -> None:
    receiver = Receiver(script=[500] * 10)
    with a_life(tmp_path, receiver, scale=1.0) as eventarc:
        write(eventarc, 1)
        assert eventually(lambda: len(eventarc.faults.history.of("event")) == 1)
    with a_life(tmp_path, receiver, scale=1.0, later=KEPT_FOR - 3600) as eventarc:
        assert eventually(lambda: len(eventarc.faults.history.of("event")) == 1)
        (attempt,) = eventarc.faults.history.of("event")
        assert attempt.detail["attempt"] == 2
        assert len(eventarc.state.pending) == 1
    with a_life(tmp_path, receiver, scale=1.0, later=KEPT_FOR) as eventarc:
        assert eventarc.settled(5)
        (letter,) = eventarc.state.dead_letters
    receiver.stop()
    assert letter.reason == "answered 500, the last of 3 times"


def test_a_commit_that_was_never_read_is_found_in_the_feed(tmp_path: Path) -> None:
    receiver = Receiver()
    with a_life(tmp_path, receiver) as eventarc:
        write(eventarc, 1)
        assert eventarc.settled(5)
        eventarc._unsubscribe()  # as though it had been killed before it heard
        eventarc._unsubscribe = lambda: None
        write(eventarc, 2)
    with a_life(tmp_path, receiver) as eventarc:
        assert eventarc.settled(5)
    receiver.stop()
    assert receiver.values == [1, 2]


def test_the_first_life_does_not_tell_of_what_was_before(tmp_path: Path) -> None:
    receiver = Receiver()
    store = FirestoreServer(data_dir=tmp_path).start()
    with connected(store.host, "p") as db:
        db.document("runs/r0").set({"v": 0})
    store.stop()
    with a_life(tmp_path, receiver) as eventarc:
        write(eventarc, 1)
        assert eventarc.settled(5)
    receiver.stop()
    assert receiver.values == [1]


# --- the journal -------------------------------------------------------------------------------------------------


def an_event(number: int) -> Event:
    return Event("f", number, {"ce-id": f"e{number}"}, b"\x00body")


def test_the_journal_remembers_what_is_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.accept(1, [an_event(1), an_event(2), an_event(3)])
    for number in (1, 2, 3):
        journal.tried(an_event(number).key, 7)
    journal.settle(an_event(1).key)
    journal.bury(an_event(2).key, "nobody home")
    journal.close()
    Journal(tmp_path).close()  # it writes everything anew
    journal = Journal(tmp_path)
    kept = journal.kept
    journal.close()
    assert kept.sequence == 1
    assert kept.attempts == {an_event(3).key: 7}
    assert list(kept.pending.values()) == [an_event(3)]
    assert list(kept.dead.values()) == [(an_event(2), "nobody home")]


def test_half_a_line_at_the_end_is_no_harm(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.accept(1, [an_event(1)])
    journal.close()
    with (tmp_path / "eventarc.journal").open("ab") as file:
        file.write(b'{"settled": "f e1"')
    for _ in range(2):
        journal = Journal(tmp_path)
        assert list(journal.kept.pending.values()) == [an_event(1)]
        journal.close()


def test_what_is_settled_does_not_fill_the_disk(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(3 * module.SLACK):
        journal.accept(number, [an_event(number)])
        journal.settle(an_event(number).key)
    assert (tmp_path / "eventarc.journal").stat().st_size < 200 * module.SLACK
    assert journal.kept.pending == {}
    journal.close()
