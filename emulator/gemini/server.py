"""Gemini on a port."""

from emulator.faults import Faults
from emulator.gemini.api import Api
from emulator.gemini.script import Script
from emulator.web import Server


class GeminiServer:
    """Start it, and point `GOOGLE_GEMINI_BASE_URL` to its `url`."""

    def __init__(self, *, port: int = 0, key: str | None = None, faults: Faults | None = None) -> None:
        self.faults = faults if faults is not None else Faults()
        self.script = Script()
        self._server = Server(Api(self.faults, self.script, key), port)

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> "GeminiServer":
        self._server.start()
        return self

    def stop(self) -> None:
        self.faults.clear()
        self._server.stop()
