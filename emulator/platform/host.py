"""Starts every part, in the order in which they need each other, and stops them in the other one."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from emulator.eventarc import EventarcServer
from emulator.faults import Faults
from emulator.firestore.changes import Commit
from emulator.firestore.server import FirestoreServer
from emulator.gemini import GeminiServer
from emulator.platform import framework, ports
from emulator.platform.functions import Function
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.ports import PortBusy, Ports
from emulator.platform.process import Process, Program
from emulator.storage import StorageServer
from emulator.storage.disk import FolderInUse

PROJECT: Final = "demo-local"
KEY: Final = "local-key"
READY_WITHIN: Final = 30.0  # seconds that functions may take to answer


class PlatformFailed(Exception):
    """A part did not come up; the message says which, and what to do."""


class Platform:
    """Alive between `start` and `stop`, or inside `with`. One set of faults, counters and history for all parts."""

    firestore: FirestoreServer
    storage: StorageServer
    gemini: GeminiServer
    eventarc: EventarcServer

    def __init__(
        self,
        *,
        project: str = PROJECT,
        functions: Sequence[Function] = (),
        single_process: bool = False,
        port_base: int | None = None,
        data_dir: Path | None = None,
        time_scale: float = 1.0,
        log: Log | None = None,
        key: str = KEY,
        chance: random.Random | None = None,
    ) -> None:
        self.project: Final = project
        self.faults: Final = Faults()
        self.log: Final = log or Log()
        self.functions: Final[dict[str, Process]] = {}
        self._wanted = functions
        self._single_process = single_process
        self._ports = Ports(port_base)
        self._data_dir = data_dir
        self._time_scale = time_scale
        self._key = key
        self._chance = chance
        self._databases: set[str] = set()
        self._running = ExitStack()

    @property
    def exports(self) -> dict[str, str]:
        """What to put into the environment of whoever uses the platform."""
        return {**self._for_clients(), "EVENTARC_EMULATOR": self.eventarc.url}

    def start(self) -> "Platform":
        try:
            self._start()
        except (PortBusy, FolderInUse) as error:
            self.stop()
            raise PlatformFailed(str(error)) from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        self._running.close()
        self.functions.clear()

    def __enter__(self) -> "Platform":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def settled(self, timeout: float = 30.0) -> bool:
        """Wait until every event so far has arrived or was given up."""
        return self.eventarc.settled(timeout)

    def reset(self) -> None:
        """As though it had just been started: nothing stored, planned, counted or under way."""
        self.faults.clear()
        self.eventarc.quiet()
        for database in tuple(self._databases):
            self.firestore.store.clear(database)
        self.storage.store.clear()
        self.gemini.script.clear()
        self.faults.calls.clear()
        self.faults.history.clear()

    # --- the parts -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        # Storage comes first: it locks its folder, so that two platforms never share one.
        with self._ports.taking(ports.STORAGE, "storage") as port:
            self.storage = StorageServer(port=port, data_dir=self._folder("storage"), faults=self.faults)
        self._begun(self.storage)
        with self._ports.taking(ports.FIRESTORE, "firestore") as port:
            self.firestore = FirestoreServer(
                port,
                http_port=self._ports[ports.FIRESTORE_HTTP],
                data_dir=self._folder("firestore"),
                faults=self.faults,
            )
        self._begun(self.firestore)
        self.firestore.subscribe(self._note_database)
        with self._ports.taking(ports.GEMINI, "gemini") as port:
            self.gemini = GeminiServer(port=port, key=self._key, faults=self.faults)
        self._begun(self.gemini)
        self._start_functions()
        self._start_events()

    def _begun(self, part: Any) -> None:
        part.start()
        self._running.callback(part.stop)

    def _start_functions(self) -> None:
        if not self._wanted:
            return
        for function in self._wanted:
            if not function.main.is_file():
                raise PlatformFailed(f"{function.name}: {function.main} is not there")
        guard = Guardian()
        self._running.callback(guard.dismiss)
        if self._single_process:
            port = self._ports.for_process(ports.FUNCTIONS, "functions")
            process = self._kept_alive(framework.all_in_one(self._wanted, port, self._for_clients()), guard)
            self.functions.update(dict.fromkeys((function.name for function in self._wanted), process))
        else:
            for place, function in enumerate(self._wanted, ports.FUNCTIONS):
                port = self._ports.for_process(place, function.name)
                program = framework.alone(function, port, self._for_clients())
                self.functions[function.name] = self._kept_alive(program, guard)
        for process in self.functions.values():
            self._await(process)

    def _kept_alive(self, program: Program, guard: Guardian) -> Process:
        process = Process(program, self.log, guard)
        self._running.callback(process.stop)
        return process

    def _start_events(self) -> None:
        """Last, when every function answers: an event that nobody takes comes again only after a while."""
        with self._ports.taking(ports.EVENTARC, "eventarc") as port:
            self.eventarc = EventarcServer(
                self.firestore,
                port=port,
                data_dir=self._folder("eventarc"),
                faults=self.faults,
                time_scale=self._time_scale,
                chance=self._chance,
                tell=self._voice("eventarc"),
            )
        for function in self._wanted:
            url = self.functions[function.name].url + (f"/{function.name}/" if self._single_process else "")
            self.eventarc.subscribe(function.subscription(url, self.project))
        self._begun(self.eventarc)

    def _await(self, process: Process) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while not process.healthy():
            if process.restarts or time.monotonic() > deadline:
                said = "\n".join(self.log.lines(process.name)[-20:])
                raise PlatformFailed(f"{process.name} does not come up; it said:\n{said}")
            time.sleep(0.02)

    def _for_clients(self) -> dict[str, str]:
        """The variables that the unmodified client libraries look for."""
        return {
            "FIRESTORE_EMULATOR_HOST": self.firestore.host,
            "STORAGE_EMULATOR_HOST": self.storage.url,
            "GOOGLE_GEMINI_BASE_URL": self.gemini.url,
            "GEMINI_API_KEY": self._key,
            "GCLOUD_PROJECT": self.project,
            "GOOGLE_CLOUD_PROJECT": self.project,
        }

    def _note_database(self, commit: Commit) -> None:
        self._databases.add(commit.database)

    def _voice(self, part: str) -> Callable[[str], None]:
        return lambda line: self.log.tell(part, line)

    def _folder(self, part: str) -> Path | None:
        return self._data_dir / part if self._data_dir else None
