"""From a request to a reply: whose it is, the weather, what must be enabled, the work, errors in Google's words."""

import math
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from emulator.control_plane.errors import Refused, not_imitated
from emulator.control_plane.operations import Operations
from emulator.control_plane.resources import SERVICE
from emulator.control_plane.routing import Call, GoogleApi
from emulator.faults import Faults, StatusReturned
from emulator.faults.http import answer, mounted
from emulator.web import Reply, Request

Place = Callable[[Request, str], Reply]


class Api:
    """`places` are the parts that are no API: who uploads, who calls a service, who stores; by their first segment."""

    def __init__(
        self,
        apis: Sequence[GoogleApi],
        places: dict[str, Place],
        *,
        enabled: Callable[[str | None], None],
        operations: Operations,
        faults: Faults,
        tell: Callable[[str], None],
    ) -> None:
        self._apis: Final = {api.name: api for api in apis}
        self._places = places
        self._enabled = enabled
        self._operations = operations
        self._faults = faults
        self._tell = tell

    def __call__(self, request: Request) -> Reply:
        if mounted(request.path):
            face = answer(self._faults, request.method, request.path, request.query, request.body)
            return Reply.json(face.value, face.status)
        try:
            return self._answered(request)
        except Refused as refused:
            if refused.code == 501:
                self._tell(f"{request.method} {request.target}: {refused.message}")
            return Reply.json(refused.body(), refused.code)
        except StatusReturned as end:
            wait = end.status.retry_after
            headers = {} if wait is None else {"Retry-After": str(math.ceil(wait))}
            return Reply.json(Refused(end.status.code, end.status.message).body(), end.status.code, headers)

    def _answered(self, request: Request) -> Reply:
        if request.method == "CONNECT":  # we are its proxy, so that nothing leaves the machine
            raise not_imitated(f"https://{request.target}, to which gcloud wanted a way")
        first, _, rest = request.path.lstrip("/").partition("/")
        if first in self._places:
            return self._places[first](request, rest)
        if first not in self._apis:
            raise not_imitated(f"{request.method} {request.path}")
        api = self._apis[first]
        call = self._operation(api, request, rest) or api.call(request, rest)
        with self._faults.call(SERVICE, call.method, call.resource):
            self._enabled(api.host)
            value = call.run()
        return Reply.json(value)

    def _operation(self, api: GoogleApi, request: Request, rest: str) -> Call | None:
        """Every API is asked for its operations in the same way."""
        _, found, name = rest.partition("/")
        if request.method != "GET" or not found or "operations/" not in name:
            return None
        return Call(f"{api.name}.operations.get", unquote(name), lambda: self._operations.get(unquote(name)))
