"""Cloud Storage on a port."""

from pathlib import Path

from emulator.faults import Faults
from emulator.service import HttpService
from emulator.storage.api import Api
from emulator.storage.disk import Disk, Memory
from emulator.storage.store import Store
from emulator.storage.uploads import Sessions


class StorageServer(HttpService):
    """Start it, and point `STORAGE_EMULATOR_HOST` to its `url`."""

    def __init__(self, *, port: int = 0, data_dir: Path | None = None, faults: Faults | None = None) -> None:
        faults = faults or Faults()
        self.store = Store(Disk(data_dir) if data_dir else Memory(), faults.history)
        self._sessions = Sessions()
        try:
            super().__init__(Api(self.store, self._sessions, faults), port=port, faults=faults)
        except OSError:
            self.store.close()  # the port is taken; the folder must not stay so
            raise

    def stop(self) -> None:
        super().stop()
        self.store.close()

    def reset(self) -> None:
        self._sessions.clear()
        self.store.clear()
