"""One function in a process of its own, under the real functions-framework; when it dies, there is another one.

The framework's server is a small family, so each function leads a process group: what is left of a dead one must not
sit on its port.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from emulator.platform import guardian
from emulator.platform.functions import Function
from emulator.platform.log import Log
from emulator.web import LOOPBACK

GRACE: Final = 3.0  # seconds between asking and insisting
FIRST_PAUSE: Final = 0.1  # before a restart; twice as long each time, until it has lived for a while
LONGEST_PAUSE: Final = 5.0
LIVED: Final = 10.0


class Guardian:
    """The host's side of `guardian`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(Path(guardian.__file__))],
            stdin=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,  # or Ctrl-C would end it first
        )

    def watch(self, group: int) -> None:
        self._say(f"+{group}\n")

    def release(self, group: int) -> None:
        self._say(f"-{group}\n")

    def dismiss(self) -> None:
        self._process.communicate()

    def _say(self, line: str) -> None:
        if self._process.stdin:
            self._process.stdin.write(line)


class FunctionProcess:
    """Alive from `start` to `stop`, with short interruptions."""

    def __init__(self, function: Function, port: int, exports: Mapping[str, str], log: Log, guard: Guardian) -> None:
        self.function: Final = function
        self.port: Final = port
        self.restarts = 0
        self._environment = {**os.environ, **exports, **_cloud(function), **function.environment}
        self._log = log
        self._guard = guard
        self._stopping = threading.Event()
        self._process = self._spawned()
        self._supervisor = threading.Thread(target=self._supervise, name=f"host-{function.name}", daemon=True)
        self._supervisor.start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def healthy(self) -> bool:
        """Whether it answers; what it answers to a question that is no event does not matter."""
        connection = HTTPConnection(LOOPBACK, self.port, timeout=1)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
        return True

    def stop(self) -> None:
        """Ask it to end; insist when it does not."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        self._supervisor.join(GRACE)
        self._signal(signal.SIGKILL)
        self._supervisor.join()

    def _supervise(self) -> None:
        pause = FIRST_PAUSE
        while True:
            born = time.monotonic()
            code = self._process.wait()
            self._bury()
            if self._stopping.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - born > LIVED else min(2 * pause, LONGEST_PAUSE)
            self._log.tell(self.function.name, f"died ({_told(code)}); a new one starts in {pause:.1f} s")
            if self._stopping.wait(pause):
                return
            self.restarts += 1
            self._process = self._spawned()
            if self._stopping.is_set():  # asked to end between the two lines above: nobody else would tell the new one
                self._signal(signal.SIGTERM)

    def _spawned(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - running it is the point
            self._command(),
            cwd=self.function.main.parent,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._guard.watch(process.pid)
        threading.Thread(target=self._relay, args=(process,), daemon=True).start()
        return process

    def _command(self) -> list[str]:
        function = self.function
        framework = [sys.executable, "-m", "functions_framework", "--signature-type", "cloudevent"]
        where = ["--host", LOOPBACK, "--port", str(self.port)]
        return [*framework, "--source", str(function.main), "--target", function.target, *where]

    def _relay(self, process: "subprocess.Popen[str]") -> None:
        if process.stdout:
            with process.stdout as lines:
                for line in lines:
                    self._log.tell(self.function.name, line.rstrip())

    def _bury(self) -> None:
        self._signal(signal.SIGKILL)  # its workers, who may not have noticed
        self._guard.release(self._process.pid)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _cloud(function: Function) -> dict[str, str]:
    """What Cloud Run tells a function about itself."""
    return {
        "K_SERVICE": function.name,
        "K_REVISION": f"{function.name}-00001-local",
        "FUNCTION_TARGET": function.target,
        "FUNCTION_SIGNATURE_TYPE": "cloudevent",
        "PYTHONUNBUFFERED": "1",
        "THREADS": str(max(2, function.concurrency)),  # the framework's own default knows the machine, not the function
    }


def _told(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
