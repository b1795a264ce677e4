"""`python -m emulator.gemini --port 9198`: prints the export, and serves until it is stopped."""

import argparse
import signal
import sys
import threading

from emulator.gemini.server import GeminiServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulator.gemini", description="Gemini on the loopback.")
    parser.add_argument("--port", type=int, default=9198, help="0: any free one (default: 9198)")
    parser.add_argument("--key", help="let in this API key only (default: any)")
    options = parser.parse_args()
    try:
        server = GeminiServer(port=options.port, key=options.key)
    except OSError as error:
        sys.exit(f"port {options.port} on the loopback: {error.strerror}; choose another with --port")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    server.start()
    sys.stdout.write(f"export GOOGLE_GEMINI_BASE_URL={server.url}\n")
    sys.stdout.flush()
    stopped.wait()
    server.stop()


if __name__ == "__main__":
    main()
