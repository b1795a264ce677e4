"""The build: a Python with what a function's requirements.txt names and nothing else, and every source compiled.

Installing takes most of a minute, so one that is installed serves every function with the same requirements, and is
kept. Whoever has everything installed already may do without, at the price of not proving that the list is complete.
"""

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from emulator.control_plane.errors import Refused

FRAMEWORK: Final = "functions-framework"
PATIENCE: Final = 600.0  # seconds for one command
_DONE: Final = "complete"


class Interpreters:
    """`install`: no means that the Python which runs this serves all functions."""

    def __init__(self, folder: Path, *, install: bool) -> None:
        self._folder = folder
        self._install = install
        self._lock = threading.Lock()

    def serving(self, source: Path) -> Path:
        """The Python that runs the function in this folder. A file that is never imported has to compile, too."""
        if not (source / "main.py").is_file():
            raise Refused(400, "Build failed: missing main.py and GOOGLE_FUNCTION_SOURCE not specified.")
        python = self._installed(source) if self._install else Path(sys.executable)
        _run([str(python), "-m", "compileall", "-q", "."], source)
        return python

    def _installed(self, source: Path) -> Path:
        requirements = source / "requirements.txt"
        wanted = requirements.read_text("utf-8") if requirements.is_file() else ""
        if FRAMEWORK not in wanted:  # then the build adds it, in the cloud as well
            wanted += f"\n{FRAMEWORK}\n"
        version = ".".join(map(str, sys.version_info[:3]))
        digest = hashlib.sha256(f"{version}\n{wanted}".encode()).hexdigest()[:16]
        with self._lock:  # one build at a time: the second may want the same
            return self._built(self._folder / digest, wanted, source)

    def _built(self, folder: Path, wanted: str, source: Path) -> Path:
        python, done = folder / "bin" / "python", folder / _DONE
        if not done.exists():
            _run([sys.executable, "-m", "venv", "--clear", str(folder)], source)
            (folder / "requirements.txt").write_text(wanted, "utf-8")
            options = ["--quiet", "--disable-pip-version-check", "--no-input"]
            _run([str(python), "-m", "pip", "install", *options, "-r", str(folder / "requirements.txt")], source)
            done.touch()
        return python


def _run(command: list[str], folder: Path) -> None:
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    try:
        ended = subprocess.run(  # noqa: S603 - building it is the point
            command, cwd=folder, env=alone, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(400, f"Build failed: {' '.join(command[1:4])} took longer than {PATIENCE:g} s.") from error
    if ended.returncode:
        said = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-15:])
        raise Refused(400, f"Build failed with status: FAILURE. It said:\n{said}")
