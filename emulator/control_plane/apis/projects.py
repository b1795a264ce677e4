"""Resource Manager and Service Usage: the project itself, who may do what in it, and which services it may use."""

import zlib
from collections.abc import Iterable
from typing import Any, Final

from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import api_disabled, invalid
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi, Route

MANAGER: Final = "cloudresourcemanager"
USAGE: Final = "serviceusage"
# What a project may use from the start.
FROM_THE_START: Final = frozenset(
    f"{name}.googleapis.com"
    for name in (
        "bigquery", "bigquerystorage", "cloudapis", "cloudtrace", "datastore", "logging", "monitoring",
        "servicemanagement", "serviceusage", "storage", "storage-api", "storage-component",
    )
)  # fmt: skip


def number_of(project: str) -> str:
    """A project's number: the same in every life of the server."""
    return str(100_000_000_000 + zlib.crc32(project.encode()))


class Projects(Collection):
    """The one project that there is; by its id, or by its number."""

    def __init__(self, state: State, project: str) -> None:
        super().__init__(state, MANAGER, "projects/*")
        self._name = Name(MANAGER, f"projects/{project}")
        state.resources.create(
            self._name,
            {
                "projectId": project,
                "projectNumber": number_of(project),
                "name": project,
                "lifecycleState": "ACTIVE",
                "createTime": state.now(),
            },
        )


class Services:
    """What is enabled. An API that is not refuses every call, and says which one it is."""

    def __init__(self, state: State, project: str) -> None:
        self._state = state
        self._project = project
        self._enabled = set(FROM_THE_START)

    def check(self, host: str | None) -> None:
        if host is not None and host not in self._enabled:
            raise api_disabled(host, self._project)

    def require(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            self.check(host)

    def enable(self, asked: Asked) -> Json:
        return self._enabling([asked.name.rpartition("/")[2]])

    def batch_enable(self, asked: Asked) -> Json:
        return self._enabling(asked.body.get("serviceIds", []))

    def disable(self, asked: Asked) -> Json:
        self._enabled.discard(asked.name.rpartition("/")[2])
        return self._state.operations.begin("", dict, {})

    def get(self, asked: Asked) -> Json:
        return self._told(asked.name.rpartition("/")[2])

    def list(self, _: Asked) -> Json:
        return {"services": [self._told(name) for name in sorted(self._enabled)]}

    def identity(self, asked: Asked) -> Json:
        """The account of a service itself; it is there when somebody asks for it, at once: gcloud relies on that."""
        service = asked.name.rpartition("/")[2].partition(".")[0]
        email = f"service-{number_of(self._project)}@gcp-sa-{service}.iam.gserviceaccount.com"
        kind = "type.googleapis.com/google.api.serviceusage.v1beta1.ServiceIdentity"
        answer = {"@type": kind, "email": email, "uniqueId": "1"}
        return {"name": "operations/finished.DONE_OPERATION", "done": True, "response": answer}

    def _enabling(self, names: Iterable[Any]) -> Json:
        wished = {str(name) for name in names}
        if odd := [name for name in wished if not name.endswith(".googleapis.com")]:
            raise invalid(f"{odd[0]} is not the name of a service.")

        def work() -> Json:
            self._enabled |= wished
            return {"services": [self._told(name) for name in sorted(wished)]}

        return self._state.operations.begin("", work, {})

    def _told(self, name: str) -> Json:
        return {
            "name": f"projects/{number_of(self._project)}/services/{name}",
            "parent": f"projects/{number_of(self._project)}",
            "config": {"name": name, "title": name.partition(".")[0]},
            "state": "ENABLED" if name in self._enabled else "DISABLED",
        }


def resource_manager(state: State, project: str) -> GoogleApi:
    return GoogleApi(MANAGER, Projects(state, project).routes())


def service_usage(services: Services) -> GoogleApi:
    one = "projects/*/services/*"
    return GoogleApi(
        USAGE,
        [
            Route("POST", "projects/*/services:batchEnable", "services.batchEnable", services.batch_enable),
            Route("GET", "projects/*/services", "services.list", services.list),
            Route("GET", one, "services.get", services.get),
            Route("POST", f"{one}:enable", "services.enable", services.enable),
            Route("POST", f"{one}:disable", "services.disable", services.disable),
            Route("POST", f"{one}:generateServiceIdentity", "services.generateServiceIdentity", services.identity),
        ],
    )
