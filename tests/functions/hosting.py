"""The functions in this process, under the real functions-framework, subscribed to the platform's events."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from functions_framework import create_app
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from emulator.eventarc import Kind, Subscription
from emulator.platform import Platform
from flowcore import runtime
from flowcore.adapters.cloud_log import JsonLog
from tests.functions.system import BUCKET, HurriedClock, System, forget_wiring

FUNCTIONS = Path(__file__).parents[2] / "functions"
HTTP = ("sweep", "start_flow")
make_app: Any = create_app  # it carries no types


@dataclass(frozen=True)
class Guest:
    """A function of the tests' own, hosted beside the project's; it hears of the runs whose id fits the pattern."""

    source: Path
    runs: str

    @property
    def name(self) -> str:
        return self.source.name


@contextmanager
def hosted(platform: Platform, guests: Sequence[Guest] = ()) -> Iterator[System]:
    """Every function of the project, and the guests, in this process, subscribed to the platform's events."""
    clock = HurriedClock()
    lines: list[str] = []
    log = JsonLog(lines.append, clock.now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARTIFACTS_BUCKET", BUCKET)
        patch.setattr(runtime, "clock", lambda: clock)
        patch.setattr(runtime, "log", lambda: log)
        names = sorted(main.parent.name for main in FUNCTIONS.glob("*/main.py"))
        apps = {f"/{name}": _app(FUNCTIONS / name) for name in names}
        apps |= {f"/{guest.name}": _app(guest.source) for guest in guests}
        server = make_server("127.0.0.1", 0, DispatcherMiddleware(NotFound(), apps), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        heard = {name: "{runId}" for name in names if name not in HTTP} | {guest.name: guest.runs for guest in guests}
        for name, runs in heard.items():
            platform.eventarc.subscribe(
                Subscription(name, f"{url}/{name}/", f"flow_runs/{runs}", Kind.WRITTEN, platform.project)
            )
        try:
            yield System(platform, url, clock, lines)
        finally:
            server.shutdown()
            server.server_close()
            forget_wiring()


def _app(source: Path) -> Any:
    return make_app(source.name, str(source / "main.py"), "http" if source.name in HTTP else "cloudevent")
