"""Killed without warning, again and again: what was acknowledged is there, and nothing is there by half."""

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
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.cloud import firestore

from tests.emulator.firestore.client import connected

WRITERS = 4
PAIRS = 10


@contextmanager
def running(data_dir: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "emulator.firestore", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        host = process.stdout.readline().strip().partition("=")[2]
        try:
            yield host, process
        finally:
            process.kill()


@dataclass
class Writer:
    """Counts up in pairs of documents, both in one commit, and remembers how far it was acknowledged."""

    number: int
    asked: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[int, int] = field(default_factory=dict)

    def write(self, host: str, limit: int) -> None:
        with connected(host, "kept") as db:
            try:
                for turn in range(limit):
                    self._write_one(db, turn % PAIRS)
            except (GoogleAPICallError, RetryError):
                return

    def _write_one(self, db: firestore.Client, pair: int) -> None:
        value = self.acknowledged.get(pair, 0) + 1
        self.asked[pair] = value
        batch = db.batch()
        for side in ("left", "right"):
            batch.set(db.document(f"w{self.number}/{side}{pair}"), {"n": value, "filling": "x" * 300})
        batch.commit(retry=None, timeout=10)
        self.acknowledged[pair] = value

    def compare(self, db: firestore.Client) -> None:
        """Each pair is whole, and where it was acknowledged or asked to be."""
        found = {snapshot.id: snapshot.get("n") for snapshot in db.collection(f"w{self.number}").stream()}
        for pair, asked in self.asked.items():
            left, right = found.get(f"left{pair}", 0), found.get(f"right{pair}", 0)
            assert left == right, "half a commit"
            assert left in (self.acknowledged.get(pair, 0), asked)
            self.acknowledged[pair] = left


def survive(data_dir: Path, kills: int, writes: int, seed: int) -> int:
    """How many commits were acknowledged, and are there, after so many kills."""
    chance = random.Random(seed)
    writers = [Writer(number) for number in range(WRITERS)]
    for turn in range(kills + 1):
        with running(data_dir) as (host, process):
            with connected(host, "kept") as db:
                for writer in writers:
                    writer.compare(db)
            if turn == kills:
                break
            threads = [threading.Thread(target=writer.write, args=(host, writes)) for writer in writers]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.2, 0.9))
            process.kill()
            for thread in threads:
                thread.join()
    return sum(sum(writer.acknowledged.values()) for writer in writers)


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    assert survive(tmp_path, kills=3, writes=1_000, seed=1) > 50


@pytest.mark.long
def test_acknowledged_writes_survive_twenty_kills(tmp_path: Path) -> None:
    assert survive(tmp_path, kills=20, writes=1_000, seed=2) > 1_000
