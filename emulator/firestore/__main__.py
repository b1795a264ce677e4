"""python -m emulator.firestore --port 8080 --data-dir .local/firestore"""

import argparse
import sys
from pathlib import Path

from emulator.firestore.journal import Damaged, InUse
from emulator.firestore.server import FirestoreServer
from emulator.service import asked_to_end
from emulator.web import PortTaken


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m emulator.firestore", description="A Firestore on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="0 takes any free one")
    parser.add_argument("--data-dir", type=Path, default=None, help="keep what is written here; in memory without it")
    options = parser.parse_args()
    try:
        server = FirestoreServer(options.port, data_dir=options.data_dir).start()
    except (PortTaken, Damaged, InUse) as unable:
        sys.stderr.write(f"{unable}\n")
        return 1
    ended = asked_to_end()
    sys.stdout.write(f"export FIRESTORE_EMULATOR_HOST={server.host}\n")
    sys.stdout.flush()
    ended.wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
