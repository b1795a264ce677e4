"""A program that is kept alive: when it dies, there is another one.

The functions-framework's server is a small family, so each program leads a process group: what is left of a dead one
must not sit on its port.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from emulator.platform.errors import PlatformFailed
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.web import LOOPBACK

GRACE: Final = 3.0  # seconds between asking and insisting
FIRST_PAUSE: Final = 0.1  # before a restart; twice as long each time, until it has lived for a while
LONGEST_PAUSE: Final = 5.0
LIVED: Final = 10.0


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, where it listens, and under which name it speaks; `kept_alive`: another one follows when it dies."""

    name: str
    port: int
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    kept_alive: bool = True


class Process:
    """Alive from `start` to `stop`, with short interruptions."""

    def __init__(self, program: Program, log: Log, guard: Guardian) -> None:
        self.name: Final = program.name
        self.port: Final = program.port
        self.restarts = 0
        self._program = program
        self._log = log
        self._guard = guard
        self._stopping = threading.Event()
        self._hurry = threading.Event()  # whoever waits before the next start waits no longer
        self._outdated: subprocess.Popen[str] | None = None  # the one that was to make room for its successor
        self._struck: subprocess.Popen[str] | None = None  # the one that was killed on purpose
        self._process = self._spawned()
        self._supervisor = threading.Thread(target=self._supervise, name=f"host-{program.name}", daemon=True)
        self._supervisor.start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def healthy(self) -> bool:
        """Whether it answers, and be it 404: to a question that no HTTP function gets to see."""
        connection = HTTPConnection(LOOPBACK, self.port, timeout=1)
        try:
            connection.request("GET", "/robots.txt")
            connection.getresponse().read()
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
        return True

    def await_health(self, within: float) -> None:
        """Returns when it answers; fails with what it said when it dies instead, or takes longer than that."""
        deadline = time.monotonic() + within
        while not self.healthy():
            if self.restarts or not self.alive or time.monotonic() > deadline:
                said = "\n".join(self._log.lines(self.name)[-20:])
                raise PlatformFailed(f"{self.name} does not come up; it said:\n{said}")
            time.sleep(0.02)

    def renew(self) -> None:
        """End it, if it is alive; another one follows at once."""
        old = self._outdated = self._process
        self._hurry.set()
        if old.poll() is None:
            _signal(old, signal.SIGTERM)
            try:
                old.wait(GRACE)
            except subprocess.TimeoutExpired:
                _signal(old, signal.SIGKILL)

    def kill(self, pid: int) -> None:
        """End the one of this pid as an instance dies in the cloud: all of it, without warning. Another one follows."""
        struck = self._process
        if struck.pid == pid:
            self._struck = struck
            _signal(struck, signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end; insist when it does not."""
        self.begin_to_stop()
        self._supervisor.join(GRACE)
        _signal(self._process, signal.SIGKILL)
        self._supervisor.join()

    def begin_to_stop(self) -> None:
        self._stopping.set()
        self._hurry.set()
        _signal(self._process, signal.SIGTERM)

    def _supervise(self) -> None:
        pause = FIRST_PAUSE
        while True:
            born = time.monotonic()
            code = self._process.wait()
            self._bury()
            if self._stopping.is_set():
                return
            if self._process is self._struck:
                self._log.tell(self.name, "killed by a fault; a new one starts at once")
                self.restarts += 1
            elif self._process is not self._outdated:
                if not self._program.kept_alive:
                    self._log.tell(
                        self.name, f"died ({_told(code)}), and what it knew with it; start the platform again"
                    )
                    return
                pause = FIRST_PAUSE if time.monotonic() - born > LIVED else min(2 * pause, LONGEST_PAUSE)
                self._log.tell(self.name, f"died ({_told(code)}); a new one starts in {pause:.1f} s")
                if self._waited_to_the_end(pause):
                    return
                self.restarts += 1
            self._process = self._spawned()
            if self._stopping.is_set():  # asked to end between the two lines above: nobody else would tell the new one
                _signal(self._process, signal.SIGTERM)

    def _waited_to_the_end(self, pause: float) -> bool:
        """Wait before the next start; true when none is wanted any more."""
        self._hurry.clear()
        if not self._stopping.is_set():
            self._hurry.wait(pause)
        return self._stopping.is_set()

    def _spawned(self) -> "subprocess.Popen[str]":
        process = self._guard.spawn(
            self._program.command,
            cwd=self._program.folder,
            env=self._program.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        threading.Thread(target=self._relay, args=(process,), daemon=True).start()
        return process

    def _relay(self, process: "subprocess.Popen[str]") -> None:
        if process.stdout:
            with process.stdout as lines:
                for line in lines:
                    self._log.tell(self.name, line.rstrip())

    def _bury(self) -> None:
        _signal(self._process, signal.SIGKILL)  # its workers, who may not have noticed
        self._guard.release(self._process.pid)


def _signal(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _told(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
