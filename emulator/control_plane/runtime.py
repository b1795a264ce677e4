"""Cloud Run: services that are really there, each a process of the functions-framework behind an address that stays.

A new revision has to answer before it gets any traffic. One that does not come up leaves the old one serving, and one
that was replaced ends what it has begun: so a deployment never loses a call.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.control_plane.errors import Refused
from emulator.control_plane.forward import Unreachable, forward
from emulator.platform.errors import PlatformFailed
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.ports import Ports
from emulator.platform.process import Process, Program
from emulator.web import LOOPBACK, Reply, Request

READY_WITHIN: Final = 60.0  # seconds
FROM_OUTSIDE: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")  # the rest of our environment is not its own


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of a service; `environment` is its own share."""

    service: str
    name: str
    python: Path
    source: Path
    target: str
    signature: str
    timeout: float
    environment: Mapping[str, str]

    def program(self, port: int, exports: Mapping[str, str]) -> Program:
        command = [str(self.python), "-m", "functions_framework", "--source", str(self.source / "main.py")]
        command += ["--target", self.target, "--signature-type", self.signature]
        command += ["--host", LOOPBACK, "--port", str(port)]
        environment = {name: os.environ[name] for name in FROM_OUTSIDE if name in os.environ}
        environment |= {
            **exports,
            "PYTHONUNBUFFERED": "1",
            "K_SERVICE": self.service,
            "K_REVISION": self.name,
            "K_CONFIGURATION": self.service,
            "FUNCTION_TARGET": self.target,
            "FUNCTION_SIGNATURE_TYPE": self.signature,
            **self.environment,
        }
        return Program(self.service, port, command, self.source, environment)


class _Serving:
    """A revision's process, and how many calls it is at work on."""

    def __init__(self, revision: Revision, process: Process) -> None:
        self.revision = revision
        self.process = process
        self._calls = 0
        self._idle = threading.Condition()

    @contextmanager
    def call(self) -> Iterator[None]:
        with self._idle:
            self._calls += 1
        try:
            yield
        finally:
            with self._idle:
                self._calls -= 1
                self._idle.notify_all()

    def retire(self) -> None:
        """End it when it has done what it has begun."""
        with self._idle:
            self._idle.wait_for(lambda: not self._calls, self.revision.timeout)
        self.process.stop()


class Runtime:
    """`exports` are the variables with which clients find the local services."""

    def __init__(self, exports: Mapping[str, str], log: Log, guard: Guardian) -> None:
        self._exports = exports
        self._log = log
        self._guard = guard
        self._ports = Ports(None)
        self._services: dict[str, _Serving] = {}
        self._lock = threading.Lock()

    def roll_out(self, revision: Revision) -> None:
        port = self._ports.for_process(0, revision.service)
        process = Process(revision.program(port, self._exports), self._log, self._guard)
        try:
            process.await_health(READY_WITHIN)
        except PlatformFailed as failure:
            process.stop()
            raise Refused(
                400,
                f"Could not create or update Cloud Run service {revision.service}, Container Healthcheck failed. "
                f"Revision '{revision.name}' is not ready and cannot serve traffic: {failure}",
            ) from failure
        with self._lock:
            old = self._services.get(revision.service)
            self._services[revision.service] = _Serving(revision, process)
        if old:
            threading.Thread(target=old.retire, name=f"retire-{old.revision.name}", daemon=True).start()

    def remove(self, service: str) -> None:
        with self._lock:
            old = self._services.pop(service, None)
        if old:
            old.process.stop()

    def stop(self) -> None:
        with self._lock:
            ending = list(self._services.values())
            self._services.clear()
        for serving in ending:  # together: each may take its time
            serving.process.begin_to_stop()
        for serving in ending:
            serving.process.stop()

    def pid_of(self, service: str) -> int:
        """Of the revision that serves now."""
        return self._services[service].process.pid

    def call(self, service: str, request: Request, rest: str) -> Reply:
        """`rest` is the path and query as the service sees them."""
        with self._lock:
            serving = self._services.get(service)
        if serving is None:
            return Reply(404, b"Page not found")
        with serving.call():
            try:
                return forward(request, f"{serving.process.url}{rest}", timeout=serving.revision.timeout)
            except Unreachable as failure:
                return Reply(503, f"The service does not answer: {failure}".encode())
