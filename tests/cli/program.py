"""`flow` as a program, in a folder of its own."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What people type. `python -m` is not quite that: after a Ctrl-C that met code made from text, as while a dataclass is
# imported, Python ends by the signal, whatever exit code was chosen.
FLOW = [str(Path(sys.executable).with_name("flow"))]
# Where tests run in the background, Ctrl-C is ignored, and children inherit that.
ATTENTIVE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from flowcore.cli import main; main()"
)


def flow(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it to its end."""
    return subprocess.run([*FLOW, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """`flow up`, ready: its process, and the lines that it has said so far. Ended with Ctrl-C unless it was killed."""
    with subprocess.Popen([*FLOW, "up", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "ready in" in line:
                break
        try:
            yield process, lines
            process.send_signal(signal.SIGINT)
            process.wait(15)
        finally:
            process.kill()
