"""The APIs that keep what they are told, and do nothing else that a deployment could notice."""

from typing import Final

from emulator.control_plane.apis.projects import number_of
from emulator.control_plane.collection import Collection, State
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi, Route

TOPICS: Final = "projects/*/topics/*"
SUBSCRIPTIONS: Final = "projects/*/subscriptions/*"


class Topics(Collection):
    """Of Pub/Sub: who creates one says where, and a patch comes in an envelope, together with its mask."""

    def put(self, asked: Asked) -> Json:
        return self._created(Name("pubsub", asked.name), asked.body)

    def patch(self, asked: Asked) -> Json:
        wish = asked.body.get(self.plural.removesuffix("s"), {})
        return self._patched(Name("pubsub", asked.name), wish, asked.body.get("updateMask"))


class Subscriptions(Topics):
    """Those of Eventarc's triggers are among them."""

    def complete(self, name: Name, wish: Json) -> Json:
        defaults = {"pushConfig": {}, "ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s"}
        return {**defaults, **super().complete(name, wish), "state": "ACTIVE"}


class Metrics(Collection):
    """Of Cloud Logging: their `name` is only their id."""

    def complete(self, name: Name, wish: Json) -> Json:
        return {**super().complete(name, wish), "name": name.id}


class Dashboards(Collection):
    """Of Cloud Monitoring: an ETag is part of each, and whoever writes back an older one is refused."""

    def shown(self, name: Name, content: Json) -> Json:
        return {**content, "etag": self._state.resources.etag(name)}


def pubsub(state: State) -> GoogleApi:
    topics = Topics(state, "pubsub", TOPICS, times=())
    subscriptions = Subscriptions(state, "pubsub", SUBSCRIPTIONS, times=())
    return GoogleApi("pubsub", topics.routes(), subscriptions.routes(), host="pubsub.googleapis.com")


def logging(state: State) -> GoogleApi:
    metrics = Metrics(state, "logging", "projects/*/metrics/*")
    return GoogleApi("logging", metrics.routes(), host="logging.googleapis.com")


def monitoring(state: State) -> GoogleApi:
    return GoogleApi(
        "monitoring",
        Dashboards(state, "monitoring", "projects/*/dashboards/*", times=()).routes(),
        Collection(state, "monitoring", "projects/*/alertPolicies/*", times=()).routes(),
        Collection(state, "monitoring", "projects/*/notificationChannels/*", times=()).routes(),
        host="monitoring.googleapis.com",
    )


def cloud_build() -> GoogleApi:
    """It is asked in whose name a build runs; the building is done by the functions themselves."""

    def account(asked: Asked) -> Json:
        project = asked.name.split("/")[1]
        email = f"{number_of(project)}-compute@developer.gserviceaccount.com"
        name = f"{asked.name}/defaultServiceAccount"
        return {"name": name, "serviceAccountEmail": f"projects/{project}/serviceAccounts/{email}"}

    where = "projects/*/locations/*/defaultServiceAccount"
    return GoogleApi(
        "cloudbuild", [Route("GET", where, "getDefaultServiceAccount", account)], host="cloudbuild.googleapis.com"
    )


class Releases(Collection):
    """Of security rules: which ruleset is in force for what; the name of a further database follows a slash."""

    def create(self, asked: Asked) -> Json:
        return self._created(Name("firebaserules", str(asked.body.get("name", ""))), asked.body)


def firebase_rules(state: State) -> GoogleApi:
    rulesets = Collection(state, "firebaserules", "projects/*/rulesets/*")
    releases = Releases(state, "firebaserules", "projects/*/releases/*", times=("createTime", "updateTime"))
    return GoogleApi(
        "firebaserules",
        rulesets.routes(),
        releases.routes(),
        [Route("GET", "projects/*/releases/*/*", "releases.get", releases.get)],
        host="firebaserules.googleapis.com",
    )


def artifact_registry(state: State) -> GoogleApi:
    repositories = Collection(
        state,
        "artifactregistry",
        "projects/*/locations/*/repositories/*",
        id_parameter="repositoryId",
        slow=True,
        times=("createTime", "updateTime"),
    )
    return GoogleApi("artifactregistry", repositories.routes(), host="artifactregistry.googleapis.com")
