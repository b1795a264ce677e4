"""The platform of an arena: a process that may be killed, and comes back in the same folder and on the same ports."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
UP_WITHIN = 180.0
PORTS = range(20_000, 30_000, 20)  # below those that the system gives to callers: nobody takes one in an outage
PARTS = 17  # ports after the base: the services, and the functions from the tenth on


class Setting(NamedTuple):
    """How the functions differ from those that are deployed: see `host`."""

    ahead: Mapping[str, float]
    instead: Mapping[str, str]
    environment: Mapping[str, str]


class Home:
    """Alive between `start` and `stop`; `kill` is the end of everything in it, without a warning."""

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.folder = folder
        self.lives = 0
        self.exports: Mapping[str, str] = {}
        self.functions: Mapping[str, str] = {}
        self._setting = json.dumps(setting._asdict())
        self._base = _free_ports()
        self._process: subprocess.Popen[str] | None = None

    @property
    def history(self) -> Path:
        return self.folder / "history.jsonl"

    @property
    def eventarc(self) -> str:
        return self.exports["EVENTARC_EMULATOR"]

    def start(self) -> None:
        """Returns when every function answers. What is left of an earlier life may sit on a port for a moment."""
        ends = time.monotonic() + UP_WITHIN
        while not self._started():
            if time.monotonic() > ends:
                raise RuntimeError(f"the platform does not come up:\n{self._said.read_text()[-2000:]}")
            if not self.lives:
                self._base = _free_ports()
            time.sleep(0.1)
        self.lives += 1

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        assert self._process
        self._process.communicate()  # the end of its input

    def evidence(self, kept: Path) -> None:
        """What was said and what happened, for whoever wants to know why; the objects are left out."""
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder / "log", kept)
        shutil.copy(self.history, kept)

    @property
    def _said(self) -> Path:
        return self.folder.with_suffix(".log")

    def _started(self) -> bool:
        with self._said.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.wire.host", str(self.folder), str(self._base), self._setting],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # or Ctrl-C would end it first
            )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            return False
        told = json.loads(line)
        self.exports, self.functions = told["exports"], told["functions"]
        return True


def _free_ports() -> int:
    while True:
        base = random.choice(PORTS)  # whoever else looks for some should look elsewhere
        if all(_free(base + place) for place in range(PARTS)):
            return base


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
