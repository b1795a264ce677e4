"""The platform with the project's functions as a program, so that it can be killed: it ends when its input does.

    python -m tests.chaos.wire.host FOLDER PORT_BASE '{"ahead": {"sweep": 60.0}, "instead": {}, "environment": {}}'

Everything is kept in the folder. The last argument says how many seconds the clock of a function is ahead, instead of
which function another is taken (a folder of this package), and what else functions find in their environment. They have
little time here, so that a call which hangs is over soon, and events that failed come again at once. Nobody calls
`sweep` but whoever asks it to.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from emulator.platform import Function, Log, Platform
from flowcore.cli import project
from tests.chaos.wire.home import Setting

# Seconds: of an invocation, of one call to a provider, and kept back for the record.
SECONDS = {"INVOCATION_TIMEOUT_SECONDS": "16", "GEMINI_TIMEOUT_SECONDS": "5", "FINALIZE_BUDGET_SECONDS": "4"}
HANGS = 15.0  # longer than any call is waited for: the last one before the record, of Cloud Storage, has 14
FASTER = 100.0  # how much sooner an event comes again than in the cloud
AT_ONCE = 8  # events and calls that a function serves at the same time: some of them hang


def main() -> None:
    folder, base, setting = Path(sys.argv[1]), int(sys.argv[2]), Setting(**json.loads(sys.argv[3]))
    functions = [_hurried(function, setting) for function in project.functions()]
    log = Log(directory=folder / "log")
    with Platform(functions=functions, port_base=base, data_dir=folder, time_scale=FASTER, log=log) as platform:
        addresses = {function.name: platform.url_of(function.name) for function in functions}
        print(json.dumps({"exports": platform.exports, "functions": addresses}), flush=True)
        sys.stdin.read()


def _hurried(function: Function, setting: Setting) -> Function:
    seconds = {**SECONDS, "CLOCK_AHEAD_SECONDS": str(setting.ahead.get(function.name, 0.0))}
    return replace(
        function,
        source=Path(__file__).with_name(setting.instead.get(function.name, "wrong_clock")),
        environment={**function.environment, **seconds, "LOG_LEVEL": "ERROR", **setting.environment},
        timeout=float(SECONDS["INVOCATION_TIMEOUT_SECONDS"]),
        concurrency=max(AT_ONCE, function.concurrency),
        schedules=(),
    )


if __name__ == "__main__":
    main()
