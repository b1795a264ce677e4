"""`python -m emulator.platform --function count=./toy:count@runs/{id}:written`: prints the exports; Ctrl-C ends it."""

import argparse
import signal
import sys
import threading
import time
from pathlib import Path

from emulator.platform.functions import Function
from emulator.platform.host import PROJECT, Platform, PlatformFailed
from emulator.platform.log import Log


def main() -> None:
    options = _options()
    log = Log(sys.stdout, options.log_dir)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    began = time.monotonic()
    platform = Platform(
        project=options.project,
        functions=options.function,
        single_process=options.single_process,
        port_base=options.port_base,
        data_dir=options.data_dir,
        time_scale=options.time_scale,
        log=log,
    )
    try:
        with platform:
            for name, value in platform.exports.items():
                sys.stdout.write(f"export {name}={value}\n")
            log.tell("platform", f"ready in {time.monotonic() - began:.1f} s; Ctrl-C ends it")
            ended.wait()
            log.tell("platform", "ending")
    except PlatformFailed as failure:
        sys.exit(str(failure))
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
        "--function",
        type=_function,
        action="append",
        default=[],
        metavar="NAME=SOURCE:TARGET@PATTERN:TYPE",
        help="run this function, and tell it of these documents; TYPE: created, updated, deleted, written",
    )
    parser.add_argument("--single-process", action="store_true", help="all functions in one process, for speed")
    return parser.parse_args()


def _function(text: str) -> Function:
    try:
        return Function.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    main()
