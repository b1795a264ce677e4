"""Ends the functions when the host has ended without doing so: it was killed, and nobody told them.

Runs as a program of its own, on the standard library alone. Each line on its input names a process group to watch over
(`+123`) or one that is no more (`-123`); the end of the input is the end of the host.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

# It names itself on the guardian's line, which is its input, before it becomes the program.
NAMED: Final = 'echo "+$$" >&0; exec "$@" </dev/null'


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

    def spawn(self, command: Sequence[str], **options: Any) -> "subprocess.Popen[str]":
        """Start a program in a process group of its own. It is watched from its first moment, whatever becomes of us:
        the line ends for the guardian when nobody holds it any more, and until it has named itself the program does."""
        watched = ["/bin/sh", "-c", NAMED, "sh", *command]
        return subprocess.Popen(  # noqa: S603 - running it is the point
            watched, stdin=self._process.stdin, start_new_session=True, text=True, errors="replace", **options
        )

    def release(self, group: int) -> None:
        if self._process.stdin:
            self._process.stdin.write(f"-{group}\n")

    def dismiss(self) -> None:
        self._process.communicate()


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
