"""The control plane on a port: every API that a deployment talks to, and the services that it makes."""

import time
from collections.abc import Callable
from pathlib import Path

from emulator.control_plane.api import Api
from emulator.control_plane.apis.eventarc import Subscriber, Triggers, eventarc
from emulator.control_plane.apis.firestore import firestore
from emulator.control_plane.apis.functions import Functions, functions
from emulator.control_plane.apis.iam import iam
from emulator.control_plane.apis.plain import (
    artifact_registry,
    cloud_build,
    firebase_rules,
    logging,
    monitoring,
    pubsub,
)
from emulator.control_plane.apis.projects import Services as Enabled
from emulator.control_plane.apis.projects import resource_manager, service_usage
from emulator.control_plane.apis.rollout import Rollout
from emulator.control_plane.apis.run import Services, run
from emulator.control_plane.apis.scheduler import Jobs, scheduler
from emulator.control_plane.apis.secrets import Secrets, secret_manager
from emulator.control_plane.apis.storage import PATHS, Buckets
from emulator.control_plane.collection import State
from emulator.control_plane.door import Door
from emulator.control_plane.interpreters import Interpreters
from emulator.control_plane.operations import Operations
from emulator.control_plane.resources import Resources
from emulator.control_plane.runtime import Runtime
from emulator.control_plane.sources import Uploads
from emulator.faults import Faults
from emulator.service import HttpService
from emulator.web import Reply, Request


class ControlPlaneServer(HttpService):
    """Of one project. `gcloud.environment` says how gcloud finds it; `Cloud` brings the rest of the world along."""

    def __init__(
        self,
        project: str,
        *,
        events: Subscriber,
        storage_url: str,
        firestore_host: str,
        runtime: Runtime,
        interpreters: Interpreters,
        folder: Path,
        port: int = 0,
        faults: Faults | None = None,
        clock: Callable[[], float] = time.time,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        faults = faults or Faults()
        self.resources = Resources(faults.history)
        self._operations = Operations(tell)
        self.runtime = runtime
        self._uploads = Uploads()
        state = State(self.resources, self._operations, clock, tell)
        enabled, secrets, services = Enabled(state, project), Secrets(state), Services(state)
        triggers = Triggers(state, events)
        self._jobs = Jobs(state)
        rollout = Rollout(self.resources, secrets, triggers, self._uploads, interpreters, runtime, folder)
        door, buckets = Door(self.resources, services, runtime, project), Buckets(state, storage_url)
        api = Api(
            [
                artifact_registry(state),
                cloud_build(),
                eventarc(triggers),
                firebase_rules(state),
                firestore(state, firestore_host),
                functions(Functions(state, enabled=enabled, triggers=triggers, uploads=self._uploads, rollout=rollout)),
                iam(state),
                logging(state),
                monitoring(state),
                pubsub(state),
                resource_manager(state, project),
                run(services),
                scheduler(self._jobs),
                secret_manager(state, secrets),
                service_usage(enabled),
            ],
            {
                **dict.fromkeys(PATHS, buckets),
                "uploads": self._uploaded,
                "services": door.called,
                "deliveries": door.delivered,
            },
            enabled=enabled.check,
            operations=self._operations,
            faults=faults,
            tell=tell,
        )
        super().__init__(api, port=port, faults=faults)
        rollout.url = self.url

    def stop(self) -> None:
        self._jobs.stop()
        self._operations.settle()
        super().stop()
        self.runtime.stop()

    def _uploaded(self, request: Request, name: str) -> Reply:
        self._uploads.receive(name, request.body)
        return Reply(200)
