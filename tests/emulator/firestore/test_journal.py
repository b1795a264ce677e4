"""What was acknowledged is there again; what was torn is not there at all."""

from pathlib import Path

import pytest

from emulator.firestore import journal as journals
from emulator.firestore.changes import Commit
from emulator.firestore.journal import Damaged, InUse, Journal
from emulator.firestore.store import Store
from emulator.firestore.wire import Document, Value, Write

DATABASE = "projects/p/databases/d"


def name(path: str) -> str:
    return f"{DATABASE}/documents/{path}"


def put(store: Store, path: str, number: int) -> int:
    fields = {"n": Value(integer_value=number)}
    return store.commit(DATABASE, [Write(update=Document(name=name(path), fields=fields))]).time


def drop(store: Store, path: str) -> None:
    store.commit(DATABASE, [Write(delete=name(path))])


def contents(store: Store) -> dict[str, int]:
    documents = store.documents(DATABASE)
    return {document.name.rpartition("/")[2]: document.fields["n"].integer_value for document in documents}


def opened(folder: Path, kept_commits: int = 10_000) -> Store:
    return Store(Journal(folder), kept_commits=kept_commits)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The file, after three commits."""
    store = opened(tmp_path)
    for number in range(3):
        put(store, f"a/d{number}", number)
    store.close()
    return tmp_path / "firestore.journal"


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, "a/x", 1)
    put(store, "a/y", 2)
    drop(store, "a/x")
    newest = put(store, "a/y", 3)
    document = store.documents(DATABASE).get(name("a/y"))
    store.close()
    for _ in range(2):
        store = opened(tmp_path)
        assert contents(store) == {"y": 3}
        assert store.documents(DATABASE).get(name("a/y")) == document
        store.close()
    store = Store(Journal(tmp_path), clock=lambda: 0)
    assert put(store, "a/y", 4) > newest, "even when the clock was set back"
    store.close()


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_torn_tail_is_cut_off(journal: Path, tmp_path: Path, lost: int) -> None:
    journal.write_bytes(journal.read_bytes()[:-lost])
    store = opened(tmp_path)
    assert contents(store) == {"d0": 0, "d1": 1}
    put(store, "a/d2", 7)
    store.close()
    store = opened(tmp_path)
    assert contents(store) == {"d0": 0, "d1": 1, "d2": 7}
    store.close()


def test_a_tail_of_zeros_is_cut_off(journal: Path, tmp_path: Path) -> None:
    journal.write_bytes(journal.read_bytes() + bytes(100))
    store = opened(tmp_path)
    assert contents(store) == {"d0": 0, "d1": 1, "d2": 2}
    store.close()


def test_a_torn_commit_leaves_none_of_its_writes(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, "a/x", 1)
    writes = [Write(update=Document(name=name(f"a/d{number}"))) for number in range(10)]
    store.commit(DATABASE, writes)
    store.close()
    file = tmp_path / "firestore.journal"
    file.write_bytes(file.read_bytes()[:-20])
    store = opened(tmp_path)
    assert contents(store) == {"x": 1}
    store.close()


def test_damage_in_the_middle_is_not_swept_under_the_carpet(journal: Path, tmp_path: Path) -> None:
    data = bytearray(journal.read_bytes())
    data[60] ^= 1
    journal.write_bytes(data)
    with pytest.raises(Damaged, match="broken"):
        opened(tmp_path)


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "firestore.journal"
    file.write_text("somebody's diary, and a long one at that")
    with pytest.raises(Damaged, match="not a journal"):
        opened(tmp_path)
    assert file.read_text().startswith("somebody's diary")


def test_two_servers_do_not_share_a_journal(tmp_path: Path) -> None:
    store = opened(tmp_path)
    with pytest.raises(InUse, match="another process"):
        opened(tmp_path)
    store.close()


def test_a_full_disk_costs_one_write_and_not_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    put(store, "a/x", 1)
    with monkeypatch.context() as full:
        full.setattr(journals, "_framed", lambda _: Half(b"half a record, and no more"))
        with pytest.raises(OSError, match="full"):
            put(store, "a/x", 2)
    assert contents(store) == {"x": 1}
    put(store, "a/y", 3)
    store.close()
    store = opened(tmp_path)
    assert contents(store) == {"x": 1, "y": 3}
    store.close()


class Half(bytes):
    """More than the disk has room for."""

    def __len__(self) -> int:
        return 1_000


def test_a_cleared_database_stays_empty(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, "a/x", 1)
    store.clear(DATABASE)
    put(store, "a/y", 2)
    store.close()
    store = opened(tmp_path)
    assert contents(store) == {"y": 2}
    store.close()


def test_old_commits_are_folded_and_the_recent_ones_stay_readable(tmp_path: Path) -> None:
    store = opened(tmp_path, kept_commits=5)
    for number in range(100):
        put(store, f"a/d{number % 4}", number)
    drop(store, "a/d0")
    store.close()
    long = (tmp_path / "firestore.journal").stat().st_size
    store = opened(tmp_path, kept_commits=5)
    assert (tmp_path / "firestore.journal").stat().st_size < long / 5
    assert contents(store) == {"d1": 97, "d2": 98, "d3": 99}
    again: list[Commit] = []
    store.feed.subscribe(again.append, after=98)
    assert [commit.last_sequence for commit in again] == [99, 100, 101]
    put(store, "a/d1", 100)
    assert store.feed.sequence == 102
    store.close()
    store = opened(tmp_path, kept_commits=5)
    assert contents(store) == {"d1": 100, "d2": 98, "d3": 99}
    store.close()


def test_the_feed_goes_on_after_a_restart(journal: Path, tmp_path: Path) -> None:
    store = opened(tmp_path)
    missed: list[Commit] = []
    store.feed.subscribe(missed.append, after=1)
    put(store, "a/d1", 9)
    changes = [change for commit in missed for change in commit.changes]
    assert [change.sequence for change in changes] == [2, 3, 4]
    before, after = changes[-1].before, changes[-1].after
    assert before is not None
    assert after is not None
    assert (before.fields["n"].integer_value, after.fields["n"].integer_value) == (1, 9)
    store.close()
