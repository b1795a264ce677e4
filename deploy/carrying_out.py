"""Does what a plan says: looks first, does only what is not there, and stops at the first thing that goes wrong.

Each question is asked once: what one step makes is no other step's subject, unless a step says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.commands import Command, Step, Word, shell
from deploy.plan import Plan

SECONDS = 1_800  # a build of one function takes minutes; nothing takes this long
# What the cloud says of something that was made a moment ago and is not known everywhere yet.
_NOT_YET = re.compile(
    r"does not exist|unable to queue|service agent|Permission denied while using the Eventarc|try again", re.IGNORECASE
)
_RESTS = (5.0, 10.0, 20.0, 40.0, 60.0)


class Failed(Exception):
    """A command did not succeed. The message has it, and what it said."""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    said: str


Run = Callable[[list[str], str | None], Answer]


@dataclass
class Outcome:
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # was there already


@dataclass
class Crew:
    """`run` starts a program; everything else is decided here."""

    run: Run
    say: Callable[[str], None]
    rest: Callable[[float], None]
    environ: Mapping[str, str]
    _seen: dict[Command, str] = field(default_factory=dict)

    def carry_out(self, plan: Plan, root: Path) -> Outcome:
        lay_out(plan, root)
        outcome = Outcome()
        for step in plan.steps:
            command = self._needed(step)
            if command is None:
                outcome.left.append(step.words)
                self.say(f"  there     {step.words}")
            else:
                self.say(f"  now       {step.words}")
                self._until_known(command, self._secret(step.secret))
                outcome.done.append(step.words)
                if step.forget:
                    self._seen.clear()
        return outcome

    def _needed(self, step: Step) -> Command | None:
        if step.look is None or step.settled is None:
            return step.command
        found = self._looked(step.look)
        if step.settled(found):
            return None
        return step.change.command if step.change and step.change.exists(found) else step.command

    def _looked(self, look: Command) -> Any:
        return json.loads(self._answer(look) or "[]")

    def _answer(self, command: Command) -> str:
        if command not in self._seen:
            self._seen[command] = self._until_known(command, None).out.strip()
        return self._seen[command]

    def _until_known(self, command: Command, stdin: str | None) -> Answer:
        argv = self.spelled(command)
        answer = self.run(argv, stdin)
        for rest in _RESTS:
            if answer.code == 0 or not _NOT_YET.search(answer.said):
                break
            self.rest(rest)
            answer = self.run(argv, stdin)
        if answer.code:
            raise Failed(f"{shell(command)}\n{answer.said.strip()}")
        return answer

    def spelled(self, command: Command) -> list[str]:
        """Every argument as text, which may take other commands' answers."""
        return [self._spelled(word) for word in command]

    def _spelled(self, word: Word) -> str:
        if isinstance(word, str):
            return word
        return "".join(part if isinstance(part, str) else self._answer(part) for part in word.parts)

    def _secret(self, variable: str | None) -> str | None:
        if variable is None:
            return None
        value = self.environ.get(variable, "").strip()
        if not value:
            raise Failed(f"{variable} is not set; its value becomes a secret: export {variable}, and begin again")
        return value


def lay_out(plan: Plan, root: Path) -> None:
    """The files that the commands read."""
    for path, content in plan.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, "utf-8")


def start(argv: list[str], stdin: str | None) -> Answer:
    """A program and what it answered; secrets go through its standard input, which no list of processes shows."""
    program, *words = argv
    ours = {"python": [sys.executable], "flow": [sys.executable, "-m", "flowcore.cli"]}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and every word is the plan's
            [*ours.get(program, [program]), *words],
            input=stdin or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            env=os.environ | {"CLOUDSDK_CORE_DISABLE_PROMPTS": "1"},
        )
    except FileNotFoundError:
        raise Failed(f"{program} is not installed, or not on the PATH") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(argv)}\ndid not end within {SECONDS} s") from None
    return Answer(done.returncode, done.stdout, done.stderr)
