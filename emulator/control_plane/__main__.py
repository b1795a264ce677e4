"""`python -m emulator.control_plane`: prints the exports for gcloud and the client libraries; Ctrl-C ends it."""

import argparse
import sys
from pathlib import Path

from emulator import shell
from emulator.control_plane.cloud import CACHE, Cloud
from emulator.platform import Log, Platform, PlatformFailed
from emulator.platform.host import PROJECT
from emulator.service import asked_to_end
from emulator.web import PortTaken


def main() -> None:
    options = _options()
    platform = Platform(project=options.project, log=Log(sys.stderr), time_scale=options.time_scale)
    cloud = Cloud(platform, install=options.install, port=options.port, cache=options.cache)
    try:
        with cloud:
            ended = asked_to_end()
            sys.stdout.write(shell.exports(cloud.exports))
            sys.stdout.flush()
            ended.wait()
    except (PlatformFailed, PortTaken) as failure:
        sys.exit(str(failure))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m emulator.control_plane", description=__doc__)
    parser.add_argument("--project", default=PROJECT, help=f"default: {PROJECT}")
    parser.add_argument("--port", type=int, default=0, help="of the control plane (default: any free one)")
    parser.add_argument("--time-scale", type=float, default=1.0, help="how much faster retries come; 3600: hours as s")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="where requirements are installed (default: in your ~/.cache)"
    )
    parser.add_argument(
        "--no-install",
        dest="install",
        action="store_false",
        help="run the functions with this Python, as it is, instead of installing their requirements",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
