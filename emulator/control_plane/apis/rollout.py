"""From a function as it is wished for to one that runs: unpacked, built, started, and told of its events."""

from dataclasses import dataclass
from pathlib import Path

from emulator.control_plane.apis.eventarc import Triggers
from emulator.control_plane.apis.run import service_name
from emulator.control_plane.apis.secrets import Secrets
from emulator.control_plane.interpreters import Interpreters
from emulator.control_plane.resources import Json, Name, Resources
from emulator.control_plane.runtime import Revision, Runtime
from emulator.control_plane.sources import Uploads


@dataclass
class Rollout:
    resources: Resources
    secrets: Secrets
    triggers: Triggers
    uploads: Uploads
    interpreters: Interpreters
    runtime: Runtime
    folder: Path
    url: str = ""  # of the server; known when it listens

    def uri(self, function: Name) -> str:
        """Where the function's service is called, whichever revision serves."""
        return f"{self.url}/services/{function.id}"

    def do(self, name: Name, function: Json) -> Json:
        """Returns the function with what it has got by it."""
        service, trigger = function["serviceConfig"], function.get("eventTrigger")
        run = _service_of(name)
        known = self.resources.find(run) or {"generation": 0, "createTime": function["createTime"]}
        generation = known["generation"] + 1
        revision = f"{name.id}-{generation:05d}-loc"
        self.runtime.roll_out(self._revision(name, function, revision))
        self._describe(run, {**known, "generation": generation, "revision": revision}, service)
        changed = {**function, "serviceConfig": {**service, "revision": revision}}
        return changed | {"eventTrigger": self._triggered(name, trigger, service)} if trigger else changed

    def undo(self, name: Name, function: Json) -> None:
        if trigger := function.get("eventTrigger", {}).get("trigger"):
            self.triggers.remove(Name("eventarc", trigger))
        if self.resources.find(_service_of(name)) is not None:
            self.resources.delete(_service_of(name))
        self.runtime.remove(name.id)

    def _revision(self, name: Name, function: Json, revision: str) -> Revision:
        build, service = function["buildConfig"], function["serviceConfig"]
        source = self.folder / name.id / revision
        self.uploads.unpack(build.get("source", {}), source)
        secrets = {
            wish["key"]: self.secrets.for_function(wish, name.project, service["serviceAccountEmail"])
            for wish in service.get("secretEnvironmentVariables", [])
        }
        return Revision(
            name.id,
            revision,
            self.interpreters.serving(source),
            source,
            build["entryPoint"],
            "cloudevent" if "eventTrigger" in function else "http",
            float(service["timeoutSeconds"]),
            {**service.get("environmentVariables", {}), **secrets},
        )

    def _describe(self, run: Name, about: Json, service: Json) -> None:
        """The service, as Cloud Run's own API shows it."""
        content = {
            **about,
            "uri": service["uri"],
            "serviceAccount": service["serviceAccountEmail"],
            "ingress": service["ingressSettings"].removeprefix("ALLOW_").lower().replace("_", "-"),
        }
        if self.resources.find(run) is None:
            self.resources.create(run, content)
        else:
            self.resources.change(run, lambda _: content)

    def _triggered(self, name: Name, trigger: Json, service: Json) -> Json:
        path = self.triggers.establish(
            name,
            trigger,
            f"{self.url}/deliveries/{name.id}",
            concurrency=max(1, int(service.get("maxInstanceRequestConcurrency", 1))),
            timeout=float(service["timeoutSeconds"]),
        )
        return {**trigger, "trigger": path}


def _service_of(function: Name) -> Name:
    return service_name(function.project, function.path.split("/")[3], function.id)
