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

import typer


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
        ended = command()
    except KeyboardInterrupt:  # typer makes it an exit code, wherever it can
        ended = Exit.INTERRUPTED
    except Exception as error:
        problem = _told(error)
        if problem is None:
            raise  # nobody foresaw it: the trace is what helps
        sys.stderr.write(f"flow: {problem}\n")
        sys.exit(problem.exit_code)
    if ended == Exit.INTERRUPTED:
        sys.stderr.write("flow: ended by Ctrl-C; nothing is undone, flow runs shows what was begun\n")
    sys.exit(ended if isinstance(ended, int) else Exit.DONE)


def _told(error: Exception) -> Problem | None:
    match error:
        case Problem():
            return error
        case typer.TyperException() if not error.format_message():  # no word at all: the help has been shown
            return Problem("what shall it do? the list is above; flow demo is a good beginning", Exit.MISUSED)
        case typer.TyperException():
            return Problem(f"{_spelled(error.format_message())}; {_helped(error)} says what there is", Exit.MISUSED)
        case OSError() if error.filename and error.strerror:
            reason = error.strerror.lower()
            return Problem(f"{error.filename}: {reason}; choose another place, or make room there", Exit.REFUSED)
    return _of_the_domain(error) or _of_the_cloud(error)


def _of_the_domain(error: Exception) -> Problem | None:
    # Here, because `flow --help` needs none of it.
    from flowcore.domain import errors
    from flowcore.domain.manual import Refused

    match error:
        case Refused():
            return Problem(str(error), Exit.REFUSED)
        case errors.NetworkError() | errors.AuthenticationError() | errors.ConfigurationError():
            return _unreachable(error.error.message)
        case errors.DataNotFoundError():
            return Problem(error.error.message, Exit.MISSING)
        case errors.StepFailed():
            return Problem(error.error.message, Exit.REFUSED)
    return None


def _of_the_cloud(error: Exception) -> Problem | None:
    """For the few calls that go past the adapters: queries and listeners."""
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import GoogleAuthError
    from requests import RequestException

    match error:
        case GoogleAPICallError() | RetryError():
            status = getattr(error, "grpc_status_code", None)
            reason = status.name if status else type(error).__name__
            return _unreachable(f"Google Cloud refused or did not answer ({reason})")
        case GoogleAuthError():
            return _unreachable(f"the account cannot be used ({type(error).__name__})")
        case RequestException():
            return _unreachable(f"no answer ({type(error).__name__})")
    return None


def _unreachable(what: str) -> Problem:
    return Problem(f"{what}; flow doctor, with the same options, finds out why", Exit.UNREACHABLE)


def _spelled(message: str) -> str:
    """As the rest of what is said here: one line, and no full stop before the advice."""
    line = " ".join(message.split()).rstrip(".").replace(". Did you mean", "; did you mean")
    return line[:1].lower() + line[1:]


def _helped(error: Exception) -> str:
    """The help of the command that was meant, where one was."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'flow'} --help"
