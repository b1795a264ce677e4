"""`python -m emulator.storage --port 9199 --data-dir .data`: prints the export, and serves until it is stopped."""

import argparse
import signal
import sys
import threading
from pathlib import Path

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
        server = StorageServer(port=options.port, data_dir=options.data_dir)
    except OSError as error:
        sys.exit(f"port {options.port} on the loopback: {error.strerror}; choose another with --port")
    except FolderInUse as error:
        sys.exit(f"--data-dir: {error}")
    for bucket in options.bucket:
        try:
            server.store.create_bucket(bucket, {})
        except StorageError as error:
            if error.code != 409:  # it was there already
                sys.exit(f"--bucket {bucket}: {error.message}")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    server.start()
    sys.stdout.write(f"export STORAGE_EMULATOR_HOST={server.url}\n")
    sys.stdout.flush()
    stopped.wait()
    server.stop()


if __name__ == "__main__":
    main()
