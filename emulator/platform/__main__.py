"""`python -m emulator.platform --function count=./toy:count@runs/{id}:written`: prints the exports; Ctrl-C ends it."""

import argparse
import sys
from pathlib import Path

from emulator.platform import foreground
from emulator.platform.errors import PlatformFailed
from emulator.platform.functions import SPELLING, Function
from emulator.platform.host import PROJECT, Platform
from emulator.platform.log import Log
from emulator.platform.stores import Firestore


def main() -> None:
    options = vars(_options())
    log = Log(sys.stdout, options.pop("log_dir"))
    try:
        foreground.run(Platform(**options, log=log), sys.stdout.write)
    except PlatformFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:  # before it was ready
        sys.exit(130)
    finally:
        log.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m emulator.platform", description="Google Cloud on the loopback.")
    parser.add_argument("--project", default=PROJECT, help=f"default: {PROJECT}")
    parser.add_argument("--port-base", type=int, help="the first of the ports (default: any free ones)")
    parser.add_argument("--data-dir", type=Path, help="keep everything in this folder (default: in memory)")
    parser.add_argument("--log-dir", type=Path, help="also write a file for each part there")
    parser.add_argument("--time-scale", type=float, default=1.0, help="how much faster retries come; 3600: hours as s")
    parser.add_argument(
        "--firestore",
        type=Firestore,
        choices=list(Firestore),
        default=Firestore.OURS,
        help="official: the emulator of gcloud; without faults and counters of its calls, and without --data-dir",
    )
    parser.add_argument(
        "--function",
        type=_function,
        action="append",
        default=[],
        dest="functions",
        metavar=SPELLING,
        help="run this function; with a pattern it is told of these documents (TYPE: created, updated, deleted, "
        "written), without one it is called by HTTP",
    )
    parser.add_argument("--single-process", action="store_true", help="all functions in one process, for speed")
    parser.add_argument("--reload", action="store_true", help="start a function anew when its source changes")
    return parser.parse_args()


def _function(text: str) -> Function:
    try:
        return Function.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    main()
