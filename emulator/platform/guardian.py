"""Ends the functions when the host has ended without doing so: it was killed, and nobody told them.

Runs as a program of its own, on the standard library alone. Each line on its input names a process group to watch over
(`+123`) or one that is no more (`-123`); the end of the input is the end of the host.
"""

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
