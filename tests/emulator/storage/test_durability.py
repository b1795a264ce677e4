"""Killed without warning, again and again: what was acknowledged is there, and nothing is there by half.

The writers remember, for each object, every state it may be in: the last acknowledged one, and the one that was asked
for when the connection broke, because an effect without an answer is no lie.
"""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from emulator.storage.checksums import Checksums
from emulator.storage.disk import Disk, FolderInUse
from emulator.storage.store import Store

WRITERS = 4
GONE = None
State = tuple[str, str] | None  # a content's checksum and a label, or gone


@contextmanager
def running(data_dir: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "emulator.storage", "--port", "0", "--data-dir", str(data_dir), "--bucket", "kept"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip().partition("=")[2]
        try:
            yield url, process
        finally:
            process.kill()


@dataclass
class Writer:
    """Writes to its own objects until the connection breaks."""

    number: int
    chance: random.Random
    possible: dict[str, set[State]] = field(default_factory=dict)
    acknowledged: int = 0

    def write(self, url: str, limit: int) -> None:
        with requests.Session() as session:
            try:
                for _ in range(limit):
                    self._write_one(session, url)
            except requests.RequestException:
                return

    def _write_one(self, session: requests.Session, url: str) -> None:
        name = f"{self.number}-{self.chance.randrange(30)}"
        (before,) = self.possible.get(name, {GONE})
        kind = self.chance.choice(["put", "put", "put", "patch", "delete"])
        path = f"{url}/storage/v1/b/kept/o/{name}"
        if kind == "put" or before is GONE:
            data = self.chance.randbytes(self.chance.choice([0, 10, 5_000, 300_000]))
            crc = _crc(data)
            self.possible[name] = {before, (crc, "")}
            upload = f"{url}/upload/storage/v1/b/kept/o?uploadType=media&name={name}"
            session.post(upload, data=data, timeout=30).raise_for_status()
            self.possible[name] = {(crc, "")}
        elif kind == "patch":
            label = str(self.chance.random())
            self.possible[name] = {before, (before[0], label)}
            session.patch(path, json={"metadata": {"label": label}}, timeout=30).raise_for_status()
            self.possible[name] = {(before[0], label)}
        else:
            self.possible[name] = {before, GONE}
            session.delete(path, timeout=30).raise_for_status()
            self.possible[name] = {GONE}
        self.acknowledged += 1

    def compare(self, url: str) -> None:
        """Everything is in one of its possible states, and from now on in that one."""
        for name, states in self.possible.items():
            found = _state(url, name)
            assert found in states, f"{name} is {found}, which is none of {states}"
            self.possible[name] = {found}


def _crc(data: bytes) -> str:
    return str(Checksums.of(data).crc32c)


def _state(url: str, name: str) -> State:
    reply = requests.get(f"{url}/storage/v1/b/kept/o/{name}?alt=media", timeout=30)
    if reply.status_code == 404:
        return GONE
    shown = requests.get(f"{url}/storage/v1/b/kept/o/{name}", timeout=30).json()
    assert (_crc(reply.content), str(len(reply.content))) == (shown["crc32c"], shown["size"])
    return shown["crc32c"], shown.get("metadata", {}).get("label", "")


def survive(data_dir: Path, kills: int, writes: int, seed: int) -> int:
    chance = random.Random(seed)
    writers = [Writer(number, random.Random(seed * 100 + number)) for number in range(WRITERS)]
    for _ in range(kills):
        with running(data_dir) as (url, process):
            for writer in writers:
                writer.compare(url)
            threads = [threading.Thread(target=writer.write, args=(url, writes)) for writer in writers]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.1, 0.6))
            process.kill()
            for thread in threads:
                thread.join()
    with running(data_dir) as (url, _):
        for writer in writers:
            writer.compare(url)
    return sum(writer.acknowledged for writer in writers)


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    assert survive(tmp_path, kills=3, writes=1_000, seed=1) > 20


@pytest.mark.long
def test_acknowledged_writes_survive_twenty_kills(tmp_path: Path) -> None:
    assert survive(tmp_path, kills=20, writes=1_000, seed=2) > 500


# --- what a crash may leave behind ------------------------------------------------------------------------


def store_in(folder: Path) -> Store:
    return Store(Disk(folder))


def test_everything_is_there_after_a_restart_and_generations_go_on(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.create_bucket("kept", {"labels": {"a": "b"}})
    kept = store.insert("kept", "a", b"text", {"contentType": "text/plain", "metadata": {"k": "v"}})
    newest = store.insert("kept", "gone", b"text", {})
    store.delete("kept", "gone")
    store.close()
    for _ in range(2):
        store = store_in(tmp_path)
        assert store.read("kept", "a") == (kept, b"text")
        assert store.bucket("kept").attributes == {"labels": {"a": "b"}}
        store.close()
    store = Store(Disk(tmp_path), clock=lambda: 0.0)
    assert store.insert("kept", "b", b"", {}).generation > newest.generation, "even when the clock was set back"
    store.close()


def test_half_a_line_and_an_orphan_are_swept_away(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.create_bucket("kept", {})
    store.insert("kept", "a", b"text", {})
    store.close()
    with (tmp_path / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"put": {"bucket": "kept", "na')
    (tmp_path / "content" / "orphan").write_bytes(b"nobody was told")
    store = store_in(tmp_path)
    store.insert("kept", "b", b"more", {})
    store.close()
    store = store_in(tmp_path)
    assert [found.name for found in store.objects("kept")] == ["a", "b"]
    assert len(list((tmp_path / "content").iterdir())) == 2
    store.close()


def test_overwritten_content_leaves_the_disk(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.create_bucket("kept", {})
    for number in range(5):
        store.insert("kept", "a", f"{number}".encode(), {})
    assert len(list((tmp_path / "content").iterdir())) == 1
    store.close()


def test_folder_belongs_to_one_emulator(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(FolderInUse, match="is in use by another emulator"):
        store_in(tmp_path)
    store.close()
    store_in(tmp_path).close()


def test_entry_that_could_not_be_written_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(tmp_path)
    store.create_bucket("kept", {})
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", _full)
        with pytest.raises(OSError, match="no space"):
            store.change_bucket("kept", lambda _: {"labels": {"lost": "yes"}})
    store.change_bucket("kept", lambda _: {"labels": {"kept": "yes"}})
    store.close()
    store = store_in(tmp_path)
    assert store.bucket("kept").attributes == {"labels": {"kept": "yes"}}
    store.close()


def _full(_: int) -> None:
    raise OSError("no space left on this device")
