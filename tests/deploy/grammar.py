"""What gcloud accepts, as far as the plan uses it: recorded, so that a plan can be checked where there is no gcloud.

`python -m tests.deploy.grammar` records it anew, from the list of commands and flags that gcloud itself completes by.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from deploy.commands import Command, Joined
from deploy.plan import Wishes, plan
from deploy.target import Target, target
from deploy.undoing import removals
from functions.catalogue import deployables

FILE = Path(__file__).parent / "grammar.json"
_TREE = "import json, gcloud_completions; print(json.dumps(gcloud_completions.STATIC_COMPLETION_CLI_TREE))"

Grammar = Mapping[str, Mapping[str, Any]]  # command → flag → "bool", "value", or the values that it may have


def recorded() -> Grammar:
    grammar: Grammar = json.loads(FILE.read_text("utf-8"))["commands"]
    return grammar


# --- the commands of every plan ---------------------------------------------------------------------------


def targets() -> list[Target]:
    return [target(environment, "my-project", "europe-west1") for environment in ("dev", "staging", "prod")]


def all_commands() -> Iterator[Command]:
    """What any deployment or teardown may type, the questions inside of commands included."""
    functions = deployables()
    digests = dict.fromkeys([each.name for each in functions], "0")
    wishes = Wishes(replace_trigger=True)
    bought_and_told = target("prod", "my-project", "us-central1", "nam5", FILE.parent / "everything.toml")
    for where in (*targets(), bought_and_told):
        steps = plan(where, functions, digests, wishes).steps
        for step in steps:
            change = [step.change.command] if step.change else []
            for command in (step.command, *([step.look] if step.look else []), *change):
                yield from with_inner(command)
        for removal in removals(where, steps, data=True):
            yield from with_inner(removal.command)


def with_inner(command: Command) -> Iterator[Command]:
    yield command
    for word in command:
        if isinstance(word, Joined):
            for part in word.parts:
                if not isinstance(part, str):
                    yield from with_inner(part)


def gclouds(commands: Iterable[Command]) -> list[Command]:
    return [command for command in commands if command[0] == "gcloud"]


# --- the check --------------------------------------------------------------------------------------------


def complaints(command: Command, grammar: Grammar) -> list[str]:
    name = known_as(command, grammar)
    if name is None:
        return [f"gcloud {' '.join(word for word in command[1:5] if isinstance(word, str))}: no such command"]
    flags = {**grammar[name], **grammar[""]}
    return [
        f"gcloud {name}: {complaint}"
        for word in command[1:]
        if (text := word if isinstance(word, str) else str(word.parts[0])).startswith("--")
        for complaint in _flag_complaints(text, flags)
    ]


def known_as(command: Command, grammar: Grammar) -> str | None:
    words = [word for word in command[1:] if isinstance(word, str)]
    names = [" ".join(words[:length]) for length in range(len(words), 0, -1)]
    return next((name for name in names if name in grammar), None)


def _flag_complaints(text: str, flags: Mapping[str, Any]) -> Iterator[str]:
    name, has_value, value = text.partition("=")
    kind = flags.get(name) or ("bool" if flags.get(f"--{name.removeprefix('--no-')}") == "bool" else None)
    if kind is None:
        yield f"{name} is unknown"
    elif kind == "bool" and has_value:
        yield f"{name} takes no value"
    elif kind != "bool" and not has_value:
        yield f"{name} needs a value"
    elif isinstance(kind, list) and value not in kind:
        yield f"{name} is one of {', '.join(kind)}, not {value}"


# --- the record -------------------------------------------------------------------------------------------


def of_this_machine(gcloud: str) -> Grammar:
    """The same, from the gcloud that is installed: its own Python reads its own table."""
    asked = [gcloud, "info", "--format=value(basic.python_location,installation.sdk_root)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout
    python, root = found.strip().split("\t")
    tree = json.loads(
        subprocess.run(
            [python, "-c", _TREE], cwd=Path(root, "data/cli"), capture_output=True, text=True, check=True, timeout=60
        ).stdout
    )
    return {name: dict(sorted(flags.items())) for name, flags in sorted(_used(tree).items())}


def _used(tree: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    used = {"": _plain(tree["flags"])}
    for command in gclouds(all_commands()):
        node: Mapping[str, Any] = tree
        path: list[str] = []
        for word in command[1:]:
            if not isinstance(word, str) or word not in node["commands"]:
                break
            node, path = node["commands"][word], [*path, word]
        if not node["commands"]:
            used[" ".join(path)] = _plain(node["flags"])
    return used


def _plain(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {name: "value" if kind == "dynamic" else kind for name, kind in flags.items()}


def main() -> None:
    gcloud = shutil.which("gcloud") or "gcloud"
    version = subprocess.run(
        [gcloud, "version", "--format=value(core)"], capture_output=True, text=True, check=True, timeout=60
    )
    record = {"gcloud": version.stdout.strip(), "commands": of_this_machine(gcloud)}
    FILE.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
