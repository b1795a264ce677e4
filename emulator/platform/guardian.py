"""Ends the functions when the host has ended without doing so: it was killed, and nobody told them.

Runs as a program of its own, on the standard library alone. Each line on its input names a process group to watch over
(`+123`) or one that is no more (`-123`); the end of the input is the end of the host.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress


class Guardian:
    """The host's side of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", __file__],
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


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
