"""`python -m emulator.bigquery --port 9050`: prints the export, and serves until it is stopped."""

import argparse

from emulator.bigquery.server import BigQueryServer
from emulator.service import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulator.bigquery", description="BigQuery on the loopback.")
    parser.add_argument("--port", type=int, default=9050, help="0: any free one (default: 9050)")
    options = parser.parse_args()
    serve(lambda: BigQueryServer(port=options.port), "BIGQUERY_EMULATOR_HOST")


if __name__ == "__main__":
    main()
