"""`python -m emulator.chart_img --port 9197`: prints the export, and serves until it is stopped."""

import argparse

from emulator.chart_img.quotas import CHARTS_A_DAY, Plan
from emulator.chart_img.server import ChartImgServer
from emulator.service import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulator.chart_img", description="Chart-IMG on the loopback.")
    parser.add_argument("--port", type=int, default=9197, help="0: any free one (default: 9197)")
    parser.add_argument(
        "--key", action="append", dest="keys", help="let in this API key; may be repeated (default: any)"
    )
    parser.add_argument("--daily-limit", type=int, default=CHARTS_A_DAY, help="charts a day for each key")
    options = parser.parse_args()
    plan = Plan(daily=options.daily_limit)
    serve(lambda: ChartImgServer(port=options.port, keys=options.keys, plan=plan), "CHART_IMG_BASE_URL")


if __name__ == "__main__":
    main()
