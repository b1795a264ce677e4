"""`make pictures`: the pictures of the README, from real commands. Needs Chromium."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

PLACE = Path(__file__).parents[1] / "spec/pictures"
COLUMNS = 110
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
READY_WITHIN = 30.0
RUN = "first-report"


def main() -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"no browser to draw with; install one of: {', '.join(BROWSERS)}")
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        platform = subprocess.Popen(_flow("up"), cwd=folder, stdout=subprocess.DEVNULL)
        try:
            _await(folder)
            _said(folder, "run", "market_report_v1", "--id", RUN, "--watch")
            _draw("flow-show.svg", f"flow show {RUN}", _said(folder, "show", RUN))
        finally:
            platform.send_signal(signal.SIGINT)
            platform.wait()
        page = json.loads(_said(folder, "demo", "--json"))["page"]
        _photograph(browser, page, PLACE / "report.png")
    for picture in sorted(PLACE.iterdir()):
        print(f"{picture.name}: {picture.stat().st_size // 1024} KiB")


def _flow(*words: str) -> list[str]:
    return [sys.executable, "-m", "flowcore.cli", *words]


def _said(folder: Path, *words: str) -> str:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    done = subprocess.run(_flow(*words), cwd=folder, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def _await(folder: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while subprocess.run(_flow("env"), cwd=folder, capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            sys.exit("the platform did not come up")
        time.sleep(0.2)


def _draw(name: str, title: str, text: str) -> None:
    with Path(os.devnull).open("w") as nowhere:
        screen = Console(record=True, width=COLUMNS, file=nowhere)
        screen.print(Text.from_ansi(text))
        drawn = screen.export_svg(title=title)
    # A picture must not load anything from anywhere; whoever has no such font sees another one.
    (PLACE / name).write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL), "utf-8")


def _photograph(browser: str, page: str, picture: Path) -> None:
    """As much of it as shows the reports and the first chart."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,2560"]
    subprocess.run([browser, *options, f"--screenshot={picture}", page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
