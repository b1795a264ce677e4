"""Plans to look at, and what to look at in them."""

from collections.abc import Iterable

from deploy.commands import Command, Step
from deploy.plan import Plan, Wishes, plan
from deploy.target import Target, target
from functions.catalogue import deployables
from tests.deploy import grammar

FUNCTIONS = deployables()
DIGESTS = dict.fromkeys([each.name for each in FUNCTIONS], "0")
DEV = target("dev", "my-project", "europe-west1")
EVERYTHING = target("prod", "my-project", "us-central1", "nam5", grammar.FILE.parent / "everything.toml")


def planned(where: Target = DEV, wishes: Wishes | None = None) -> Plan:
    return plan(where, FUNCTIONS, DIGESTS, wishes or Wishes())


def texts(command: Command) -> list[str]:
    return [word for word in command if isinstance(word, str)]


def deploys(steps: Iterable[Step]) -> dict[str, list[str]]:
    """Function → the words of the command that deploys it."""
    commands = [texts(step.command) for step in steps if texts(step.command)[1:3] == ["functions", "deploy"]]
    return {words[3]: words for words in commands}


def only(words: str, where: Target = DEV, wishes: Wishes | None = None) -> Step:
    (found,) = [step for step in planned(where, wishes).steps if step.words.startswith(words)]
    return found


def verdict(step: Step, found: object) -> bool:
    assert step.settled
    return step.settled(found)
