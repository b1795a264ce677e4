"""What `flow up` does: the emulator's platform with the project's functions, found by others through its state file."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import flowcore
from emulator import shell
from emulator.platform import Firestore, Function, Log, Platform, PlatformFailed, foreground
from flowcore.cli import project, state
from flowcore.cli.furnishing import at_home, furnished
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import AT_HOME


def run(
    *,
    functions: Sequence[str],
    log_dir: Path | None,
    data_dir: Path | None,
    firestore: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Returns after Ctrl-C. `as_json`: one line on standard output when it is ready, all else beside it."""
    logs = log_dir or state.LOGS
    log = Log(sys.stderr if as_json else sys.stdout, logs)
    platform = Platform(
        functions=_beside(project.functions(), _parsed(functions)),
        libraries=[Path(flowcore.__file__).parent],
        firestore=Firestore(firestore),
        log=log,
        data_dir=data_dir,
        **options,
    )

    def say_exports(_: str) -> None:
        if not as_json:
            sys.stdout.write(shell.exports(_exports(platform)))

    def begin() -> None:
        with at_home(platform) as there:
            log.tell("platform", f"{furnished(there)}; try: flow run market_report_v1 --watch")
        here = state.here(_exports(platform), _addresses(platform), logs)
        ready(here)
        if as_json:
            sys.stdout.write(json.dumps(asdict(here)) + "\n")
            sys.stdout.flush()

    try:
        with state.claimed(Path.cwd()) as ready:
            if not data_dir and not log_dir:
                shutil.rmtree(logs, ignore_errors=True)  # of runs that the last platform has taken along
            log.tell("platform", "starting the stores, the events, the models and the functions")
            foreground.run(platform, say_exports, begin)
            log.tell("platform", _ended(data_dir))
    except (PlatformFailed, state.AlreadyRunning) as failure:
        raise Problem(str(failure), Exit.REFUSED) from None
    except KeyboardInterrupt:  # before it was ready
        raise Problem("ended, and nothing is left running; flow up begins anew", Exit.INTERRUPTED) from None
    finally:
        log.close()


def _ended(data_dir: Path | None) -> str:
    if data_dir:
        return f"ended; everything is in {data_dir}, and flow up --data-dir {data_dir} goes on from there"
    return "ended, and its documents and objects with it; --data-dir keeps them"


def _parsed(functions: Sequence[str]) -> list[Function]:
    try:
        return [Function.parse(text) for text in functions]
    except ValueError as error:
        raise Problem(f"--function: {error}", Exit.MISUSED) from None


def _beside(own: list[Function], more: list[Function]) -> list[Function]:
    """The project's and the person's; of two with one name the person's."""
    named = {function.name: function for function in own}
    return [*(named | {function.name: replace(function, environment=AT_HOME) for function in more}).values()]


def _exports(platform: Platform) -> Mapping[str, str]:
    """For the clients of Google, and for functions that somebody starts by hand."""
    return {**platform.exports, **AT_HOME}


def _addresses(platform: Platform) -> dict[str, str]:
    return {name: platform.url_of(name) for name in platform.functions}
