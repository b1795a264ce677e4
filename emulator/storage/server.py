"""Cloud Storage on a port."""

from pathlib import Path

from emulator.faults import Faults
from emulator.storage.api import Api
from emulator.storage.disk import Disk, Memory
from emulator.storage.store import Store
from emulator.web import Server


class StorageServer:
    """Start it, and point `STORAGE_EMULATOR_HOST` to its `url`."""

    def __init__(self, *, port: int = 0, data_dir: Path | None = None, faults: Faults | None = None) -> None:
        self.faults = faults if faults is not None else Faults()
        self.store = Store(Disk(data_dir) if data_dir else Memory(), self.faults.history)
        try:
            self._server = Server(Api(self.store, self.faults), port)
        except OSError:
            self.store.close()  # the port is taken; the folder must not stay so
            raise

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> "StorageServer":
        self._server.start()
        return self

    def stop(self) -> None:
        self.faults.clear()
        self._server.stop()
        self.store.close()
