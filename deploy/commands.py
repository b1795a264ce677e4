"""A command as data: what is typed, what has to be seen beforehand, and what a person reads about it.

An argument may be the answer to another command, such as the URL of a function that does not exist yet. So a plan can
be made, printed as a script and tested before anything exists.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Joined:
    """An argument made of text and of what other commands answer."""

    parts: tuple[str | Command, ...]


Word = str | Joined
Command = tuple[Word, ...]


def joined(*parts: str | Command) -> Joined:
    return Joined(parts)


def gcloud(*words: Word, project: str) -> Command:
    return ("gcloud", *words, f"--project={project}", "--quiet")


def shell(command: Command) -> str:
    """As one would type it."""
    return " ".join(_typed(word) for word in command)


def _typed(word: Word) -> str:
    if isinstance(word, str):
        return shlex.quote(word)
    return "".join(shlex.quote(part) if isinstance(part, str) else f'"$({shell(part)})"' for part in word.parts)


class Refused(Exception):
    """What is there forbids the step. The message says what, and what to do about it."""


Verdict = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Step:
    """`look` reads and answers in JSON; `settled` says of its answer whether there is nothing to do.

    Without a look, the command is one that may be given as often as one likes, and says itself what it has changed.
    """

    words: str
    command: Command
    look: Command | None = None
    settled: Verdict | None = None
    change: Change | None = None
    secret: str | None = None  # the variable whose value the command reads from its standard input
    forget: bool = False  # what was seen before is no longer so


@dataclass(frozen=True, slots=True)
class Change:
    """The other command, for what exists and is not as wished."""

    exists: Verdict
    command: Command
