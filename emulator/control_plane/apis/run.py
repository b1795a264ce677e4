"""Cloud Run's API: the services behind the functions, and who may call them.

A function's service is made and changed with the function. What is asked here is how it is, and its policy.
"""

from typing import Final

from emulator.control_plane.apis.projects import number_of
from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import not_found
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi, Route

API: Final = "run"
INVOKER: Final = "roles/run.invoker"
NAMESPACE: Final = "apis/serving.knative.dev/v1/namespaces/*"


def service_name(project: str, location: str, service: str) -> Name:
    return Name(API, f"projects/{project}/locations/{location}/services/{service}")


class Services(Collection):
    def __init__(self, state: State) -> None:
        super().__init__(state, API, "projects/*/locations/*/services/*", slow=True)

    def may_call(self, name: Name, email: str | None) -> bool:
        """Whether this account, or without one anybody at all, may call the service."""
        project = Name("cloudresourcemanager", f"projects/{name.project}")
        holders = self._state.resources.grants(name, INVOKER) | self._state.resources.grants(project, INVOKER)
        return "allUsers" in holders or (email is not None and f"serviceAccount:{email}" in holders)

    def find(self, project: str, service: str) -> Name | None:
        found = self._state.resources.list(API, f"projects/{project}/locations/*/services/{service}")
        return next(iter(found), None)

    def describe(self, asked: Asked) -> Json:
        """As Knative has it, which is how gcloud asks."""
        *_, project, _, service = asked.name.split("/")
        name = self.find(project, service)
        if name is None:
            raise not_found(asked.name)
        return self._as_knative(name, self._state.resources.get(name))

    def every(self, asked: Asked) -> Json:
        found = self._state.resources.list(API, f"projects/{asked.name.split('/')[-1]}/locations/*/services/*")
        return {"kind": "ServiceList", "items": [self._as_knative(name, content) for name, content in found.items()]}

    def _as_knative(self, name: Name, service: Json) -> Json:
        location = name.path.split("/")[3]
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "ConfigurationsReady", "RoutesReady")]
        return {
            "apiVersion": "serving.knative.dev/v1",
            "kind": "Service",
            "metadata": {
                "name": name.id,
                "namespace": number_of(name.project),
                "labels": {"cloud.googleapis.com/location": location, "goog-managed-by": "cloudfunctions"},
                "annotations": {"run.googleapis.com/ingress": service["ingress"]},
                "creationTimestamp": service["createTime"],
                "generation": service["generation"],
                "resourceVersion": self._state.resources.etag(name),
            },
            "spec": {
                "template": {
                    "metadata": {"name": service["revision"]},
                    "spec": {
                        "serviceAccountName": service["serviceAccount"],
                        "containers": [{"image": f"{location}-docker.pkg.dev/{name.project}/gcf-artifacts/{name.id}"}],
                    },
                },
                "traffic": [{"percent": 100, "latestRevision": True}],
            },
            "status": {
                "url": service["uri"],
                "address": {"url": service["uri"]},
                "observedGeneration": service["generation"],
                "conditions": conditions,
                "latestReadyRevisionName": service["revision"],
                "latestCreatedRevisionName": service["revision"],
                "traffic": [{"percent": 100, "latestRevision": True, "revisionName": service["revision"]}],
            },
        }


def run(services: Services) -> GoogleApi:
    return GoogleApi(
        API,
        [
            Route("GET", f"{NAMESPACE}/services/*", "namespaces.services.get", services.describe),
            Route("GET", f"{NAMESPACE}/services", "namespaces.services.list", services.every),
        ],
        services.routes(),
        host="run.googleapis.com",
    )
