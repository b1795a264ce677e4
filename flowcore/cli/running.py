"""What `flow up` does: the emulator's platform with the project's functions, found by others through its state file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flowcore
from emulator.platform import Firestore, Function, Log, Platform, PlatformFailed, foreground
from flowcore.cli import project, state


class Failed(Exception):
    """It cannot run; the message is one for people."""


def run(*, functions: Sequence[str], log_dir: Path | None, firestore: str, **options: Any) -> None:
    """Returns after Ctrl-C."""
    log = Log(sys.stdout, log_dir)
    platform = Platform(
        functions=_parsed(functions) or project.functions(),
        libraries=[Path(flowcore.__file__).parent],
        firestore=Firestore(firestore),
        log=log,
        **options,
    )
    try:
        with state.claimed(Path.cwd()) as ready:
            foreground.run(platform, sys.stdout.write, lambda: ready(_told(platform)))
    except (PlatformFailed, state.AlreadyRunning) as failure:
        raise Failed(str(failure)) from failure
    finally:
        log.close()


def _parsed(functions: Sequence[str]) -> list[Function]:
    try:
        return [Function.parse(text) for text in functions]
    except ValueError as error:
        raise Failed(f"--function: {error}") from error


def _told(platform: Platform) -> state.Running:
    return state.here(platform.exports, {name: platform.url_of(name) for name in platform.functions})
