"""What `flow up` does: the emulator's platform with the project's functions, found by others through its state file."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import flowcore
from emulator.platform import Firestore, Function, Log, Platform, PlatformFailed, foreground
from flowcore.cli import project, state
from flowcore.cli.furnishing import at_home, furnished
from flowcore.cli.world import BUCKET


class Failed(Exception):
    """It cannot run; the message is one for people."""


def run(
    *, functions: Sequence[str], log_dir: Path | None, data_dir: Path | None, firestore: str, **options: Any
) -> None:
    """Returns after Ctrl-C."""
    logs = log_dir or state.LOGS
    log = Log(sys.stdout, logs)
    platform = Platform(
        functions=_beside(project.functions(), _parsed(functions)),
        libraries=[Path(flowcore.__file__).parent],
        firestore=Firestore(firestore),
        log=log,
        data_dir=data_dir,
        **options,
    )
    try:
        with state.claimed(Path.cwd()) as ready:
            if not data_dir and not log_dir:
                shutil.rmtree(logs, ignore_errors=True)  # of runs that the last platform has taken along

            def begin() -> None:
                with at_home(platform) as there:
                    platform.log.tell("platform", f"{furnished(there)}; try: flow run market_report_v1 --watch")
                ready(state.here(platform.exports, _addresses(platform), logs))

            foreground.run(platform, sys.stdout.write, begin)
    except (PlatformFailed, state.AlreadyRunning) as failure:
        raise Failed(str(failure)) from failure
    finally:
        log.close()


def _parsed(functions: Sequence[str]) -> list[Function]:
    try:
        return [Function.parse(text) for text in functions]
    except ValueError as error:
        raise Failed(f"--function: {error}") from error


def _beside(own: list[Function], more: list[Function]) -> list[Function]:
    """The project's and the person's; of two with one name the person's."""
    named = {function.name: function for function in own}
    settings = {"ARTIFACTS_BUCKET": BUCKET}
    return [*(named | {function.name: replace(function, environment=settings) for function in more}).values()]


def _addresses(platform: Platform) -> dict[str, str]:
    return {name: platform.url_of(name) for name in platform.functions}
