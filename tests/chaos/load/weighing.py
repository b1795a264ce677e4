"""How much memory processes have, looked at while they work."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

EVERY = 0.5  # seconds
PAGE = os.sysconf("SC_PAGE_SIZE")


class Weights:
    """Samples by name, in bytes, oldest first."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._done = threading.Event()
        self.samples: dict[str, list[int]] = {name: [] for name in pids}

    def take(self) -> None:
        for name, pid in self._pids.items():
            self.samples[name].append(_family(pid))

    def growth(self, name: str) -> int:
        """From the middle of the work, when everything was loaded that is ever loaded, to its end."""
        samples = self.samples[name]
        return max(samples[-3:]) - max(samples[: len(samples) // 2 + 1])

    def peak(self, name: str) -> int:
        return max(self.samples[name])

    def _watch(self) -> None:
        while not self._done.wait(EVERY):
            self.take()

    @contextmanager
    def watched(self) -> Iterator[None]:
        self.take()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._done.set()
            watcher.join()
            self.take()


def _family(pid: int) -> int:
    """A server may work through children of its own."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
        return _resident(pid) + sum(_resident(child) for child in children)
    except (OSError, ValueError):
        return 0  # it has just ended


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
