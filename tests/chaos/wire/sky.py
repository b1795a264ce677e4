"""The faults of a platform in another process, by HTTP; a platform that comes back has forgotten them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests

from tests.chaos.wire.book import Book
from tests.chaos.wire.home import Home
from tests.chaos.wire.points import Problem

BACK_WITHIN = 120.0


@dataclass(eq=False, slots=True)
class Plan:
    """A problem, and what the platform calls it: a life and a name, for each life in which it was planned."""

    problem: Problem
    names: list[tuple[int, str]]
    fired: int = 0  # how often; known when the plan is over


@dataclass
class Sky:
    home: Home
    book: Book
    _open: dict[str, list[Plan]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def planned(self, run_id: str, problems: Sequence[Problem]) -> Iterator[list[Plan]]:
        with self._lock:
            plans = [Plan(problem, [self._plan(problem, run_id)]) for problem in problems]
            self._open[run_id] = plans
        try:
            yield plans
        finally:
            with self._lock:
                del self._open[run_id]
                for life, name in (plan.names[-1] for plan in plans):
                    if life == self.book.lives:
                        self._asked("DELETE", f"/{name}")
            self.book.so_far()
            for plan in plans:
                plan.fired = sum(self.book.fired[name] for name in plan.names)

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Meanwhile the platform is killed and comes back: what lasts goes on, what was to happen once had its time."""
        with self._lock:
            yield
            self.book.so_far()  # nothing is planned yet in the new life, so what has fired until here was the old one's
            self.book.lives += 1
            for run_id, plans in self._open.items():
                for plan in plans:
                    if plan.problem.lasts:
                        plan.names.append(self._plan(plan.problem, run_id))

    def _plan(self, problem: Problem, run_id: str) -> tuple[int, str]:
        life = self.book.lives
        answer = self._asked("POST", "", problem.wish(run_id, life))
        return life, str(answer["id"])

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
