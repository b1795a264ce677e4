"""`python -m emulator.gemini --port 9198`: prints the export, and serves until it is stopped."""

import argparse

from emulator.gemini.server import GeminiServer
from emulator.service import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulator.gemini", description="Gemini on the loopback.")
    parser.add_argument("--port", type=int, default=9198, help="0: any free one (default: 9198)")
    parser.add_argument("--key", help="let in this API key only (default: any)")
    options = parser.parse_args()
    serve(lambda: GeminiServer(port=options.port, key=options.key), "GOOGLE_GEMINI_BASE_URL")


if __name__ == "__main__":
    main()
