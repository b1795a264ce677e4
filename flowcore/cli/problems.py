"""What goes wrong when people type commands: one line that says what, where and what next, and an exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | the run FAILED or was CANCELLED, or a check found something |
| 2 | the command cannot be understood |
| 3 | there is no such thing: run, flow, step, file |
| 4 | refused: it does not fit what is there |
| 5 | nobody answers, or we may not ask |
| 130 | ended by Ctrl-C |
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import IntEnum

from flowcore.domain.errors import AuthenticationError, ConfigurationError, DataNotFoundError, NetworkError, StepFailed
from flowcore.domain.manual import Refused


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    MISUSED = 2
    MISSING = 3
    REFUSED = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


class Problem(Exception):
    """A person reads the message: one line, and what to do about it."""

    def __init__(self, message: str, exit_code: Exit) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def guarded(command: Callable[[], object]) -> None:
    """Run it; whatever is foreseen ends in one line, never in a trace."""
    try:
        command()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except (Problem, Refused, StepFailed) as error:
        problem = error if isinstance(error, Problem) else Problem(str(error), _exit_code(error))
        sys.stderr.write(f"flow: {problem}\n")
        sys.exit(problem.exit_code)


def _exit_code(error: Exception) -> Exit:
    match error:
        case NetworkError() | AuthenticationError() | ConfigurationError():
            return Exit.UNREACHABLE
        case DataNotFoundError():
            return Exit.MISSING
        case _:
            return Exit.REFUSED
