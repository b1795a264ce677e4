"""Gemini on a port."""

from emulator.faults import Faults
from emulator.gemini.api import Api
from emulator.gemini.script import Script
from emulator.service import HttpService


class GeminiServer(HttpService):
    """Start it, and point `GOOGLE_GEMINI_BASE_URL` to its `url`."""

    def __init__(self, *, port: int = 0, key: str | None = None, faults: Faults | None = None) -> None:
        self.script = Script()
        faults = faults or Faults()
        super().__init__(Api(faults, self.script, key), port=port, faults=faults)

    def reset(self) -> None:
        self.script.clear()
