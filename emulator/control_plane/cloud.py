"""All of it together: the platform, and a control plane that deploys to it."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from emulator.control_plane import gcloud
from emulator.control_plane.interpreters import Interpreters
from emulator.control_plane.runtime import Runtime
from emulator.control_plane.server import ControlPlaneServer
from emulator.platform import Platform
from emulator.platform.guardian import Guardian
from emulator.platform.services import SERVICES

CACHE: Final = Path.home() / ".cache" / "flowcore" / "interpreters"


class Cloud:
    """Alive inside `with`. What is deployed here is gone afterwards; what was installed for it is kept in `cache`."""

    control_plane: ControlPlaneServer

    def __init__(self, platform: Platform, *, install: bool = True, port: int = 0, cache: Path = CACHE) -> None:
        self.platform: Final = platform
        self._install = install
        self._port = port
        self._cache = cache
        self._folder = Path()
        self._running = ExitStack()

    @property
    def exports(self) -> dict[str, str]:
        """For whoever deploys, and for whoever then uses what is deployed."""
        ours = {"CONTROL_PLANE_EMULATOR": self.control_plane.url}
        return {**self.platform.exports, **ours, **self._for_gcloud()}

    def start(self) -> "Cloud":
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        self._running.close()

    def __enter__(self) -> "Cloud":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self._running.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._running.enter_context(self.platform)
        guard = Guardian()
        self._running.callback(guard.dismiss)
        self.control_plane = ControlPlaneServer(
            self.platform.project,
            events=self.platform.eventarc,
            storage_url=self.platform.storage.url,
            firestore_host=self.platform.firestore.host,
            runtime=Runtime(self._for_functions(), self.platform.log, guard),
            interpreters=Interpreters(self._cache, install=self._install),
            folder=self._folder / "functions",
            port=self._port,
            faults=self.platform.faults,
            tell=lambda line: self.platform.log.tell("control_plane", line),
        )
        self._running.enter_context(self.control_plane)

    def _for_functions(self) -> dict[str, str]:
        """Where everything is. The keys are not said: a function has those that are deployed with it, as secrets."""
        keys = {service.key_variable for service in SERVICES}
        return {name: value for name, value in self.platform.exports.items() if name not in keys}

    def _for_gcloud(self) -> dict[str, str]:
        return dict(gcloud.environment(self.control_plane.url, self.platform.project, self._folder / "gcloud"))
