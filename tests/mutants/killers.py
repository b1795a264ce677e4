"""Who may notice that the kernel is broken, the quickest first."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tests.mutants import explore
from tests.mutants.workbench import Workbench

SUITE, EXPLORER = "suite", "explorer"

_TESTS = ("tests/vectors", "tests/engine", "tests/domain", "tests/test_config.py", "tests/test_log.py")
_FLOWS = "tests/domain/test_random_flows.py"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Unable(Exception):
    """A killer could not do its work: what it said is neither yes nor no."""


@dataclass(frozen=True, slots=True)
class Killer:
    name: str
    side: str
    arguments: tuple[str, ...]
    limit: float  # seconds, on a machine that is busy with other things too

    def strike(self, bench: Workbench, limit: float | None = None) -> str | None:
        """By what this killer noticed the break; None when it noticed nothing."""
        try:
            done = bench.run(self.arguments, limit or self.limit)
        except subprocess.TimeoutExpired:
            return f"timeout: {self.name}"
        if done.returncode == 0:
            return None
        noticed = _law_of(done) if self.side == EXPLORER else _test_of(done)
        if noticed is None:
            raise Unable(f"{self.name} could not run:\n{(done.stdout + done.stderr)[-3000:]}")
        return noticed


@dataclass(frozen=True, slots=True)
class Verdict:
    killed_by: str | None
    seconds: float


def _pytest(*selection: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-rfE", "-p", "no:cacheprovider", *selection)


def _explorer(together: int, seconds: float) -> tuple[str, ...]:
    return ("-m", explore.__name__, str(together), str(seconds))


KILLERS = (
    Killer("examples", SUITE, _pytest("-m", "not hypothesis", *_TESTS), limit=120),
    Killer("any one fault", EXPLORER, _explorer(1, 60), limit=300),
    Killer("properties", SUITE, _pytest("-m", "hypothesis", f"--ignore={_FLOWS}", *_TESTS), limit=240),
    Killer("random flows", SUITE, _pytest("-m", "hypothesis", _FLOWS), limit=300),
    Killer("any two faults", EXPLORER, _explorer(2, 240), limit=900),
)


def killed(bench: Workbench, sides: Collection[str], limits: Mapping[str, float]) -> Verdict:
    """The first killer that notices that the kernel on the workbench is broken."""
    began = time.monotonic()
    for killer in KILLERS:
        noticed = killer.strike(bench, limits.get(killer.name)) if killer.side in sides else None
        if noticed:
            return Verdict(noticed, time.monotonic() - began)
    return Verdict(None, time.monotonic() - began)


def _test_of(done: subprocess.CompletedProcess[str]) -> str | None:
    failed = _FAILED.search(done.stdout)
    if failed is None:
        return None
    return f"suite: {failed[1]}" if "::" in failed[1] else f"suite: {failed[1]} (while it was collected)"


def _law_of(done: subprocess.CompletedProcess[str]) -> str | None:
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return None
    side = "timeout" if done.returncode == explore.NOT_CLOSED else "explorer"
    return f"{side}: {said['scenario']}: {said['law']}"
