"""Cloud Functions v2: a function is a source, a service that runs it, and perhaps a trigger; here, too.

What is wrong with a wish is said at once. What turns out while it is rolled out ends the operation, and leaves the
function FAILED with the reason, while its last good revision goes on serving.
"""

from typing import Final

from emulator.control_plane.apis import firestore
from emulator.control_plane.apis.eventarc import Triggers, filters_of
from emulator.control_plane.apis.projects import Services as Enabled
from emulator.control_plane.apis.projects import number_of
from emulator.control_plane.apis.rollout import Rollout
from emulator.control_plane.apis.run import service_name
from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import Refused, invalid
from emulator.control_plane.members import account
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi, Route
from emulator.control_plane.sources import Uploads

API: Final = "cloudfunctions"
LOCATIONS: Final = ("europe-west1", "europe-west3", "us-central1", "us-east1")
RUNTIMES: Final = ("python310", "python311", "python312", "python313")
NEEDED: Final = ("run.googleapis.com", "cloudbuild.googleapis.com", "artifactregistry.googleapis.com")
LONGEST_WITH_EVENTS: Final = 540
LONGEST: Final = 3600


class Functions(Collection):
    def __init__(
        self,
        state: State,
        *,
        enabled: Enabled,
        triggers: Triggers,
        uploads: Uploads,
        rollout: Rollout,
    ) -> None:
        super().__init__(
            state,
            API,
            "projects/*/locations/*/functions/*",
            id_parameter="functionId",
            slow=True,
            times=("createTime",),
        )
        self._enabled = enabled
        self._triggers = triggers
        self._uploads = uploads
        self._rollout = rollout
        self._busy: set[Name] = set()

    # --- what is asked ---------------------------------------------------------------------------------------

    def locations(self, asked: Asked) -> Json:
        return {"locations": [{"name": f"{asked.name}/locations/{each}", "locationId": each} for each in LOCATIONS]}

    def runtimes(self, _: Asked) -> Json:
        return {"runtimes": [{"name": name, "stage": "GA", "environment": "GEN_2"} for name in RUNTIMES]}

    def upload_url(self, asked: Asked) -> Json:
        return self._uploads.announce(f"http://{asked.request.host}/uploads")

    # --- what is checked at once -----------------------------------------------------------------------------

    def check(self, name: Name, content: Json) -> None:
        if name in self._busy:
            raise Refused(409, f"unable to queue the operation: {name} is being deployed", status="ABORTED")
        self._enabled.require(NEEDED)
        build, service, trigger = (content.get(key, {}) for key in ("buildConfig", "serviceConfig", "eventTrigger"))
        if build.get("runtime") not in RUNTIMES:
            raise invalid(f"Runtime {build.get('runtime')!r} is not among {', '.join(RUNTIMES)}.")
        if not build.get("entryPoint"):
            raise invalid("entryPoint is required.")
        longest = LONGEST_WITH_EVENTS if trigger else LONGEST
        if int(service.get("timeoutSeconds", 60)) > longest:
            raise invalid(f"timeoutSeconds: {service['timeoutSeconds']} is more than {longest}.")
        if int(service.get("maxInstanceRequestConcurrency", 1)) > 1 and _cpus(service) < 1:
            raise invalid("Total cpu < 1 is not supported with concurrency > 1.")
        self._check_account(service.get("serviceAccountEmail"))
        if trigger:
            self._check_trigger(name, trigger)

    def _check_account(self, email: str | None) -> None:
        given = email and not email.endswith("-compute@developer.gserviceaccount.com")
        if given and self._state.resources.find(account(str(email))) is None:
            raise Refused(404, f"Service account {email} was not found.")

    def _check_trigger(self, name: Name, trigger: Json) -> None:
        self._enabled.require(["eventarc.googleapis.com", "pubsub.googleapis.com"])
        self._check_account(trigger.get("serviceAccountEmail"))
        self._triggers.check_wish(trigger)
        database = filters_of(trigger).get("database", "(default)")
        location = firestore.location_of(self._state, name.project, database)
        if location is None:
            raise Refused(404, f"The database {database} does not exist for project {name.project}.")
        if location != trigger.get("triggerRegion"):
            raise invalid(
                f"The trigger's location {trigger.get('triggerRegion')} does not match the location {location} of the "
                f"database {database}."
            )

    # --- what the service adds -------------------------------------------------------------------------------

    def complete(self, name: Name, wish: Json) -> Json:
        location = name.path.split("/")[3]
        service = {
            "service": service_name(name.project, location, name.id).path,
            "uri": self._rollout.uri(name),
            "timeoutSeconds": 60,
            "availableMemory": "256M",
            "ingressSettings": "ALLOW_ALL",
            "serviceAccountEmail": f"{number_of(name.project)}-compute@developer.gserviceaccount.com",
            "allTrafficOnLatestRevision": True,
            **wish.get("serviceConfig", {}),
        }
        own = {"serviceConfig": service, "environment": "GEN_2", "state": "DEPLOYING", "url": service["uri"]}
        return {**super().complete(name, wish), **own, "updateTime": self._state.now()}

    # --- what is really done ---------------------------------------------------------------------------------

    def begun(self, name: Name, old: Json | None, new: Json | None) -> None:
        if new is None:
            self._rollout.undo(name, old or {})
            return
        self._busy.add(name)
        try:
            function = self._state.resources.change(name, lambda old: old | {"state": "DEPLOYING"})
            rolled_out = self._rollout.do(name, function)
            done = {"state": "ACTIVE", "updateTime": self._state.now(), "stateMessages": []}
            self._state.resources.change(name, lambda _: rolled_out | done)
        except Refused as refused:
            told = [{"severity": "ERROR", "type": "CloudRunServiceNotReady", "message": refused.message}]
            self._state.resources.change(name, lambda function: function | {"state": "FAILED", "stateMessages": told})
            raise
        finally:
            self._busy.discard(name)


def functions(collection: Functions) -> GoogleApi:
    location = "projects/*/locations/*"
    return GoogleApi(
        API,
        [
            Route("GET", "projects/*/locations", "locations.list", collection.locations),
            Route("GET", f"{location}/runtimes", "runtimes.list", collection.runtimes),
            Route(
                "POST", f"{location}/functions:generateUploadUrl", "functions.generateUploadUrl", collection.upload_url
            ),
        ],
        collection.routes(),
        host="cloudfunctions.googleapis.com",
    )


def _cpus(service: Json) -> float:
    cpu = str(service.get("availableCpu", "1"))
    return float(cpu.removesuffix("m")) / 1000 if cpu.endswith("m") else float(cpu)
