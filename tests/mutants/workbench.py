"""A copy of the tree that may be broken and mended again; the tree itself is never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tests.mutants.catalogue import Mutant

ROOT = Path(__file__).parents[2]
COPIED = ("flowcore", "tests", "functions", "emulator", "spec", "pyproject.toml")


class OutOfDate(Exception):
    """The kernel has changed, and a mutant's old text is not in it exactly once any more."""


class Elsewhere(Exception):
    """Python takes the kernel from somewhere else than the copy, so breaking the copy would break nothing."""


def mutated(source: str, mutant: Mutant) -> str:
    found = source.count(mutant.old)
    if found != 1:
        raise OutOfDate(f"{mutant.name!r} is out of date: its old text occurs {found} times in {mutant.file}")
    return source.replace(mutant.old, mutant.new)


@dataclass(frozen=True, slots=True)
class Workbench:
    place: Path

    @classmethod
    def prepare(cls, place: Path) -> Workbench:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                shutil.copy2(source, place / name)
        bench = cls(place)
        # The project is installed in the environment too; the copy has to come first.
        where = bench.run(["-c", "import flowcore; print(flowcore.__file__)"], timeout=60).stdout.strip()
        if not Path(where).is_relative_to(place):
            raise Elsewhere(f"flowcore was imported from {where}, not from {place}")
        return bench

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        path = self.place / mutant.file
        whole = path.read_text()
        self._write(path, mutated(whole, mutant))
        try:
            yield
        finally:
            self._write(path, whole)

    def run(self, arguments: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
        """The project's Python, in the copy."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        environment |= {"PYTHONPATH": str(self.place), "PYTHONHASHSEED": "0", "COLUMNS": "1000"}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # Byte code is believed by the size of its source and a date in seconds; two breaks may share both.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
