"""One platform with the project's functions, each in its own process, on which many runs are disturbed at once.

Runs are begun by `start_flow` and looked after by `sweep`, both by HTTP; sweep is called again and again, and its clock
is ahead by the margin of a lease. So a lease ends when its invocation must have, and not before, and sweep is waited
for that long. What would still take minutes (a step that nobody took, a lease by a clock that is ahead, too) is not:
when neither events nor sweep will soon move a run, nobody is at work on it, and its clock may be put forward (`ahead`).
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import requests

from flowcore.cli.world import World, world
from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Run
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import Patch
from flowcore.ports import Conflict
from tests.chaos.transitions import Document, moment
from tests.chaos.wire.ahead import sweep_ahead
from tests.chaos.wire.book import Book
from tests.chaos.wire.flow import FLOW, SHORT, Flow, furnish, run_id_of
from tests.chaos.wire.home import Home, Setting
from tests.chaos.wire.sky import Sky

MARGIN = 60.0  # seconds that clocks may differ
BETWEEN_SWEEPS = 0.5
BETWEEN_LOOKS = 0.2
QUIET_LOOKS = 2  # a commit and its events are not one moment
ENOUGH_SWEEPS = 2  # the first one may have begun before
BEGUN_WITHIN = 120.0
SETTLED_WITHIN = 120.0
ANSWERS_WITHIN = 20.0
SWEPT_WITHIN = 3.0
MANY_SWEEPS = 10  # that succeed, and leave a run that is due as it is
A_MOMENT = timedelta(seconds=2)
SOON = timedelta(seconds=20)  # more than an invocation has, and with it the lease of one that died

Written = tuple[str, object]  # the run, and the `updatedAt` that it was given


@dataclass(eq=False)
class Arena:
    home: Home
    sky: Sky
    book: Book
    world: World
    flow: Flow
    sweep_is_ahead: timedelta
    hourly: bool
    between_sweeps: threading.Lock = field(default_factory=threading.Lock)
    up: threading.Event = field(default_factory=threading.Event)
    sweeps: int = 0
    outages: int = 0
    begun: set[str] = field(default_factory=set)
    by_hand: set[Written] = field(default_factory=set)  # an operator's writes, and those that never landed
    _looks: int = 0
    _at_work: set[str] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    # --- runs -------------------------------------------------------------------------------------------------

    def begin(self, key: str) -> Iterator[str]:
        """Ask `start_flow` until it answers; says what is wrong with its answers."""
        self.begun.add(run_id_of(key))
        ends = time.monotonic() + BEGUN_WITHIN
        while time.monotonic() < ends:
            with suppress(requests.RequestException):
                answer = requests.post(
                    self.home.functions["start_flow"],
                    json={"flowKey": FLOW, "parameters": self.flow.parameters(key)},
                    headers={"Idempotency-Key": key},
                    timeout=ANSWERS_WITHIN,
                )
                if answer.status_code in (200, 201):
                    if answer.json()["runId"] != run_id_of(key):
                        yield f"start_flow began {answer.json()['runId']}"
                    return
                if answer.status_code < 500:
                    yield f"start_flow answered {answer.status_code}: {answer.text[:200]}"
                    return
            time.sleep(0.1)
        yield "start_flow never answered"

    def rest(self, run_id: str, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Until the run is over, or neither events nor sweep will soon move it, or somebody has something in mind."""
        quiet_since = (-1, 0, 0)
        while not interrupted():
            life = self.book.life(run_id)
            if life.over and run_id not in self._at_work:
                return
            writes, looks, sweeps = quiet_since
            if life.writes != writes or run_id in self._at_work or not self.up.is_set():
                quiet_since = (life.writes, self._looks, self.sweeps)
            elif self._is_soon_due(life.document):
                pass
            elif self._looks >= looks + QUIET_LOOKS and self.sweeps >= sweeps + ENOUGH_SWEEPS:
                return
            time.sleep(0.1)

    def outage(self) -> None:
        """The platform is killed, and comes back."""
        self.up.clear()
        with self.sky.interrupted():
            self.home.kill()
            self.outages += 1
            self.home.start()
        self.up.set()

    def settled(self) -> bool:
        """Whether there comes a moment at which nobody is at work on anything."""
        ends, looks = time.monotonic() + SETTLED_WITHIN, self._looks
        while self._looks < looks + QUIET_LOOKS:
            if self._at_work or not self.up.is_set():
                looks = self._looks
            if time.monotonic() > ends:
                return False
            time.sleep(0.1)
        return True

    def by_an_operator(self, run_id: str, decide: Callable[[Run], Patch]) -> bool:
        """Whether anything was decided on and written."""
        for _ in range(10):
            try:
                snapshot = self.world.runs.get(run_id)
            except NetworkError:
                time.sleep(0.2)
                continue
            assert snapshot is not None
            patch = decide(parse_run(snapshot))
            if not patch:
                return False
            self.by_hand.add((run_id, patch.changes["updatedAt"]))  # before: its reply may be lost
            try:
                self.world.runs.update(run_id, patch, snapshot.update_time)
            except (Conflict, NetworkError):
                continue
            return True
        return False

    def passed_over(self, run_id: str) -> bool:
        """Whether sweep leaves a run as it is that its own clock calls due. To put ours forward would hide that."""
        writes, sweeps, ends = self.book.life(run_id).writes, self.sweeps, time.monotonic() + SETTLED_WITHIN
        while self._is_due(self.book.life(run_id).document) and self.book.life(run_id).writes == writes:
            if self.sweeps >= sweeps + MANY_SWEEPS or time.monotonic() > ends:
                return True
            time.sleep(0.1)
        return False

    def look_ahead(self, run_id: str, hours: int) -> bool:
        """A sweep by our own hand and clock; whether it met a fault that was meant for a function."""
        return sweep_ahead(self.world.runs, run_id, hours)

    def _is_due(self, document: Document) -> bool:
        return document.get("status") == "PENDING" or self._due_in(document) <= -A_MOMENT

    def _is_soon_due(self, document: Document) -> bool:
        return -A_MOMENT < self._due_in(document) <= SOON

    def _due_in(self, document: Document) -> timedelta:
        """For the clock of sweep."""
        wake = moment(document.get("wakeAt"))
        return wake - datetime.now(UTC) - self.sweep_is_ahead if wake else timedelta.max

    # --- in the background --------------------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[Arena]:
        threads = [threading.Thread(target=each, daemon=True) for each in (self._sweep, self._look)]
        self.up.set()
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def sweep(self) -> None:
        """As Cloud Scheduler does it every minute and every hour. One that hangs does not keep the next from coming."""
        with suppress(requests.RequestException):
            for query in ("", "?every_run=true") if self.hourly else ("",):
                requests.post(self.home.functions["sweep"] + query, timeout=SWEPT_WITHIN).raise_for_status()
            self.sweeps += 1

    def _sweep(self) -> None:
        while not self._ended.wait(BETWEEN_SWEEPS):
            with self.between_sweeps:
                self.sweep()

    def _look(self) -> None:
        """Who still has events to come, or under way."""
        while not self._ended.wait(BETWEEN_LOOKS):
            with suppress(requests.RequestException):
                pending = requests.get(f"{self.home.eventarc}/__events", timeout=ANSWERS_WITHIN).json()["pending"]
                self._at_work = {event["document"].rpartition("/")[2] for event in pending}
                self._looks += 1


@contextmanager
def opened(
    ahead: Mapping[str, float] | None = None,
    flow: Flow = SHORT,
    instead: Mapping[str, str] | None = None,
    *,
    hourly: bool = True,
) -> Iterator[Arena]:
    """`ahead`: how many seconds the clocks of functions are ahead of ours; `instead`: see `host`.

    `hourly`: whether runs are swept in the way of every hour, too, which makes up for what that of every minute lacks.
    """
    ahead = ahead or {"sweep": MARGIN}
    with ExitStack() as opening:
        folder = Path(opening.enter_context(tempfile.TemporaryDirectory())) / "platform"
        home = Home(folder, Setting(ahead, {**flow.instead, **(instead or {})}, flow.environment))
        home.start()
        opening.callback(home.stop)
        opening.enter_context(_variables(home.exports))
        there = world()
        furnish(there, flow)
        book = opening.enter_context(Book(home.history).open())
        lead = timedelta(seconds=ahead["sweep"])
        yield opening.enter_context(Arena(home, Sky(home, book), book, there, flow, lead, hourly).watched())


@contextmanager
def _variables(exports: Mapping[str, str]) -> Iterator[None]:
    """The clients of Google look for them."""
    before = dict(os.environ)
    os.environ.update(exports)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
