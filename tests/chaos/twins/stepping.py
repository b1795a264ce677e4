"""Functions in the middle of their work, as many as one likes, and one of them at a time.

The kernel is ordinary code: it calls a port and waits. What happens meanwhile is what the batteries are about, so an
invocation that waits has to be left alone, with its stack, while a loop lets other things happen. A stack needs a
thread, but the thread is only changed when there is a reason to: what the loop begins runs where the loop does, and
whoever has to wait hands the loop on to a spare thread. When the wait is over, the loop comes back with it. So there is
one order of events, the one that the seed says, and most calls cost no more than a call.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from types import TracebackType


class Killed(BaseException):
    """The process is gone. Not an Exception: the code under test must not be able to catch it."""


class Broken(BaseException):
    """The simulation itself has failed, on another thread. Nobody may take it for the failure of a function."""


class Seat:
    """A thread's place to wait in."""

    def __init__(self) -> None:
        self._turn = _thread.allocate_lock()
        self._turn.acquire()

    def call(self) -> None:
        self._turn.release()

    def wait(self) -> None:
        self._turn.acquire()


class Stage:
    """The threads, of which one has the turn. They are kept: making one costs more than a whole delivery."""

    def __init__(self) -> None:
        self._first = Seat()
        self._has_the_turn = self._first
        self._spare: list[Seat] = []
        self._made: list[Seat] = []
        self._step: Callable[[], bool] = bool
        self._failure: BaseException | None = None
        self._over = False

    def run(self, step: Callable[[], bool]) -> None:
        """Take steps until one says that nothing is left to do. Nobody may be waiting then."""
        self._step = step
        self._loop(self._first)

    @property
    def here(self) -> Seat:
        """For `give_back`: the place of whoever has the turn."""
        return self._has_the_turn

    def step_aside(self) -> None:
        """From inside an invocation: let the loop go on elsewhere, until somebody gives the turn back."""
        mine = self._has_the_turn
        self._pass_to(self._spare.pop() if self._spare else self._another())
        mine.wait()
        self._check(mine)

    def give_back(self, seat: Seat) -> None:
        """From inside a step: whoever sits there goes on, and the loop with them."""
        mine = self._has_the_turn
        if seat is mine:
            return
        self._spare.append(mine)
        self._pass_to(seat)
        mine.wait()
        self._check(mine)

    def _loop(self, mine: Seat) -> None:
        while True:
            while not self._over and self._step():
                pass
            if self._over or mine is self._first:
                return
            self._spare.remove(self._first)
            self.give_back(self._first)

    def _another(self) -> Seat:
        seat = Seat()
        self._made.append(seat)
        _thread.start_new_thread(self._live, (seat,))
        return seat

    def _live(self, mine: Seat) -> None:
        mine.wait()
        try:
            if not self._over:
                self._loop(mine)
        except BaseException as failure:  # noqa: BLE001 - a mistake of the simulation: for whoever runs it
            if not self._over:
                self._failure = failure
                self._pass_to(self._first)

    def _pass_to(self, seat: Seat) -> None:
        self._has_the_turn = seat
        seat.call()

    def _check(self, mine: Seat) -> None:
        if self._over:
            raise Killed
        if self._failure and mine is self._first:
            raise Broken from self._failure

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Every thread wakes up once more, and ends."""
        self._over = True
        for seat in self._made:
            seat.call()
