"""The faults of a platform in another process, by HTTP; a platform that comes back has forgotten them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests

from tests.chaos.wire.home import Home
from tests.chaos.wire.points import Problem

BACK_WITHIN = 120.0


@dataclass(slots=True)
class Planned:
    problem: Problem
    identity: str
    life: int  # of the platform


@dataclass
class Sky:
    home: Home
    _open: dict[str, list[Planned]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def planned(self, run_id: str, problems: Sequence[Problem]) -> Iterator[None]:
        with self._lock:
            self._open[run_id] = [self._plan(problem, run_id) for problem in problems]
        try:
            yield
        finally:
            with self._lock:
                for each in self._open.pop(run_id):
                    if each.life == self.home.lives:
                        self._asked("DELETE", f"/{each.identity}")

    def plan_anew(self) -> None:
        """After the platform was killed: what lasts goes on, what was to happen once has had its time."""
        with self._lock:
            for run_id, planned in self._open.items():
                old = [each for each in planned if each.life < self.home.lives]
                new = [self._plan(each.problem, run_id) for each in old if each.problem.lasts]
                self._open[run_id] = [each for each in planned if each not in old] + new

    def _plan(self, problem: Problem, run_id: str) -> Planned:
        life = self.home.lives
        answer = self._asked("POST", "", problem.wish(run_id, life))
        return Planned(problem, str(answer["id"]), life)

    def _asked(self, method: str, path: str, wish: object = None) -> dict[str, object]:
        ends = time.monotonic() + BACK_WITHIN
        while True:
            try:
                answer = requests.request(method, f"{self.home.eventarc}/__faults{path}", json=wish, timeout=20)
            except requests.RequestException:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.1)
                continue
            if answer.status_code == 400:
                raise ValueError(answer.text)
            told: dict[str, object] = answer.json()
            return told
