"""The way to the services: whoever calls one has to be somebody who may."""

from urllib.parse import urlsplit

from emulator.control_plane.apis.eventarc import API as EVENTARC
from emulator.control_plane.apis.functions import API as FUNCTIONS
from emulator.control_plane.apis.run import Services
from emulator.control_plane.apis.scheduler import caller
from emulator.control_plane.resources import Name, Resources
from emulator.control_plane.runtime import Runtime
from emulator.web import Reply, Request


class Door:
    def __init__(self, resources: Resources, services: Services, runtime: Runtime, project: str) -> None:
        self._resources = resources
        self._services = services
        self._runtime = runtime
        self._project = project

    def called(self, request: Request, rest: str) -> Reply:
        """`/services/NAME/…`: an account with a token of ours is looked at, any other token is a person's."""
        service, _, _ = rest.partition("/")
        name = self._services.find(self._project, service)
        if name is None:
            return Reply(404, b"Page not found")
        token = request.headers.get("Authorization", "")
        email = caller(token)
        person = bool(token) and email is None
        if not person and not self._services.may_call(name, email):
            return _forbidden(email)
        return self._runtime.call(service, request, _path_within(request, service))

    def delivered(self, request: Request, function: str) -> Reply:
        """`/deliveries/FUNCTION`: from Eventarc, in the name of the trigger's account."""
        found = self._resources.list(FUNCTIONS, f"projects/{self._project}/locations/*/functions/{function}")
        trigger = next(iter(found.values()), {}).get("eventTrigger", {}).get("trigger")
        name = self._services.find(self._project, function)
        if trigger is None or name is None:
            return Reply(404, b"Page not found")  # it is just coming or just going: the event comes again, or goes
        email = self._resources.get(Name(EVENTARC, trigger))["serviceAccount"]
        if not self._services.may_call(name, email):
            return _forbidden(email)
        return self._runtime.call(function, request, "/")


def _path_within(request: Request, service: str) -> str:
    target = urlsplit(request.target)
    path = target.path.partition(f"/services/{service}")[2] or "/"
    return f"{path}?{target.query}" if target.query else path


def _forbidden(email: str | None) -> Reply:
    who = email or "a caller without a token"
    return Reply(403, f"Your client does not have permission to get URL from this server: {who}".encode())
