"""Starts every part, in the order in which they need each other, and stops them in the other one."""

import random
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from emulator.eventarc import EventarcServer
from emulator.faults import Faults
from emulator.firestore.journal import Damaged, InUse
from emulator.firestore.server import FirestoreServer
from emulator.platform import holding, ports
from emulator.platform.errors import PlatformFailed
from emulator.platform.fleet import Fleet
from emulator.platform.functions import Function
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.official import OfficialFirestore
from emulator.platform.ports import Ports
from emulator.platform.process import Process
from emulator.platform.reloading import Reloading
from emulator.platform.services import SERVICES
from emulator.platform.stores import Firestore, FirestoreLike
from emulator.platform.transitions import Narrator
from emulator.scheduler import Job, Scheduler
from emulator.service import HttpService
from emulator.storage.disk import FolderInUse

if TYPE_CHECKING:  # `services` says why they are imported later
    from emulator.bigquery import BigQueryServer
    from emulator.chart_img import ChartImgServer
    from emulator.gemini import GeminiServer
    from emulator.storage import StorageServer

PROJECT: Final = "demo-local"
KEY: Final = "local-key"


class Platform:
    """Alive between `start` and `stop`, or inside `with`. One set of faults, counters and history for all parts.

    `reload` starts a function anew when its source changes, and all of them when one of the `libraries` does.
    """

    firestore: FirestoreLike
    storage: "StorageServer"
    gemini: "GeminiServer"
    bigquery: "BigQueryServer"
    chart_img: "ChartImgServer"
    eventarc: EventarcServer

    def __init__(
        self,
        *,
        project: str = PROJECT,
        functions: Sequence[Function] = (),
        single_process: bool = False,
        firestore: Firestore = Firestore.OURS,
        port_base: int | None = None,
        data_dir: Path | None = None,
        time_scale: float = 1.0,
        reload: bool = False,
        libraries: Sequence[Path] = (),
        log: Log | None = None,
        key: str = KEY,
        chance: random.Random | None = None,
    ) -> None:
        self.project: Final = project
        self.faults: Final = Faults()
        self.log: Final = log or Log()
        self._wanted = functions
        self._kind = firestore
        self._ports = Ports(port_base)
        self._data_dir = data_dir
        self._time_scale = time_scale
        self._reload = reload
        self._libraries = libraries
        self._key = key
        self._chance = chance
        self._services: dict[str, HttpService] = {}
        self._fleet = Fleet(functions, self._ports, self.log, single_process=single_process)
        self._running = ExitStack()

    @property
    def exports(self) -> dict[str, str]:
        """What to put into the environment of whoever uses the platform."""
        return {**self._for_clients(), "EVENTARC_EMULATOR": self.eventarc.url}

    @property
    def functions(self) -> dict[str, Process]:
        """The process of each function."""
        return self._fleet.processes

    def url_of(self, function: str) -> str:
        """Where a function listens; an HTTP function is called there."""
        return self._fleet.url_of(function)

    def start(self) -> "Platform":
        try:
            self._start()
        except (FolderInUse, InUse, Damaged) as error:
            self.stop()
            raise PlatformFailed(str(error)) from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        self._running.close()

    def __enter__(self) -> "Platform":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def settled(self, timeout: float = 30.0) -> bool:
        """Wait until every event so far has arrived or was given up."""
        return self.eventarc.settled(timeout)

    def reset(self, within: float = 10.0) -> None:
        """As though it had just been started: nothing stored, planned, counted or under way."""
        self.faults.clear()
        if busy := self.eventarc.quiet(within):
            raise PlatformFailed(f"{', '.join(busy)}: still at work on an event after {within:g} s: nothing is clean")
        self.firestore.clear_all()
        for service in self._services.values():
            service.reset()
        self.faults.calls.clear()
        self.faults.history.clear()

    # --- the parts -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._start_services()
        if self._data_dir:  # which is ours alone from here on
            self.faults.history.keep(self._data_dir / "history.jsonl")
            self._running.callback(self.faults.history.close)
            self.storage.store.tell_what_was_not_told()
        self._start_firestore()
        if self._wanted:
            guard = self._guardian()
            self._running.callback(self._fleet.stop)
            self._fleet.start(self._for_clients(), guard)
            if holding.can_be_known():
                self.faults.may_kill(self._fleet.caller)
        self._start_events()
        self._begun(Scheduler(self._jobs(), lambda line: self.log.tell("scheduler", line)))
        if self._reload and self._wanted:
            self._start_reloading()

    def _begun(self, part: Any) -> None:
        self._running.callback(part.stop)
        part.start()

    def _start_services(self) -> None:
        for service in SERVICES:
            with self._ports.taking(service.place, service.name) as port:
                made = service.make(port=port, faults=self.faults, key=self._key, folder=self._folder(service.name))
            self._begun(made)
            self._services[service.name] = made
            setattr(self, service.name, made)

    def _start_firestore(self) -> None:
        store = self._official() if self._kind is Firestore.OFFICIAL else self._ours()
        self._begun(store)
        self.firestore = store
        narrator = Narrator(lambda line: self.log.tell("firestore", line))
        self._running.callback(narrator.stop)
        self._running.callback(store.subscribe(narrator.hear))

    def _ours(self) -> FirestoreLike:
        with self._ports.taking(ports.FIRESTORE, "firestore") as port:
            return FirestoreServer(port, data_dir=self._folder("firestore"), faults=self.faults)

    def _official(self) -> FirestoreLike:
        if self._data_dir:
            raise PlatformFailed("the official Firestore emulator keeps nothing: leave out --data-dir, or take ours")
        port = self._ports.for_process(ports.FIRESTORE, "firestore")
        return OfficialFirestore(self.project, port, self.faults.history, self.log, self._guardian())

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
                tell=lambda line: self.log.tell("eventarc", line),
            )
        for function in self._wanted:
            if subscription := function.subscription(self.url_of(function.name), self.project):
                self.eventarc.subscribe(subscription)
        self._begun(self.eventarc)

    def _jobs(self) -> list[Job]:
        return [
            Job(
                f"{function.name}-every-{schedule.every:g}s",
                f"{self.url_of(function.name)}?{schedule.query}",
                schedule.every,
            )
            for function in self._wanted
            for schedule in function.schedules
        ]

    def _start_reloading(self) -> None:
        watched: dict[Path, Sequence[Process]] = {
            **{path.resolve(): tuple(self.functions.values()) for path in self._libraries},
            **{function.source.resolve(): (self.functions[function.name],) for function in self._wanted},
        }
        self._running.callback(Reloading(watched, self.log).stop)

    def _guardian(self) -> Guardian:
        """For processes that are started after it, and so end before it."""
        guard = Guardian()
        self._running.callback(guard.dismiss)
        return guard

    def _for_clients(self) -> dict[str, str]:
        """The variables that the unmodified client libraries look for."""
        found = {"FIRESTORE_EMULATOR_HOST": self.firestore.host}
        for service in SERVICES:
            found |= service.exports(self._services[service.name].url, self._key)
        return found | {"GCLOUD_PROJECT": self.project, "GOOGLE_CLOUD_PROJECT": self.project}

    def _folder(self, part: str) -> Path | None:
        return self._data_dir / part if self._data_dir else None
