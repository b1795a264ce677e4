"""`python -m emulator.storage --port 9199 --data-dir .data`: prints the export, and serves until it is stopped."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from emulator.service import serve
from emulator.storage.disk import FolderInUse
from emulator.storage.errors import StorageError
from emulator.storage.server import StorageServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulator.storage", description="Cloud Storage on the loopback.")
    parser.add_argument("--port", type=int, default=9199, help="0: any free one (default: 9199)")
    parser.add_argument("--data-dir", type=Path, help="keep everything in this folder (default: in memory)")
    parser.add_argument("--bucket", action="append", default=[], help="create this bucket if it is missing")
    options = parser.parse_args()
    try:
        serve(
            lambda: _with_buckets(StorageServer(port=options.port, data_dir=options.data_dir), options.bucket),
            "STORAGE_EMULATOR_HOST",
        )
    except FolderInUse as error:
        sys.exit(f"--data-dir: {error}")


def _with_buckets(server: StorageServer, names: Iterable[str]) -> StorageServer:
    for name in names:
        try:
            server.store.create_bucket(name, {})
        except StorageError as error:
            if error.code != 409:  # it was there already
                sys.exit(f"--bucket {name}: {error.message}")
    return server


if __name__ == "__main__":
    main()
