"""From a request to a reply: find the operation, let the weather have its say, do it, put errors into official words.

A route parses just enough to name its operation (the method as the API's own reference calls it, and the resource), and
returns the rest as something still to be done. That is what makes every call countable, and lets a fault strike before
the effect or after it.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from emulator.faults import Fault, Faults, StatusReturned
from emulator.faults.http import answer, mounted
from emulator.storage import batch, bucket_routes, object_routes, upload_routes
from emulator.storage.errors import StorageError
from emulator.storage.operation import Operation
from emulator.storage.store import Store
from emulator.storage.uploads import Sessions
from emulator.web import Reply, Request

Route = Callable[..., Operation]

BUCKETS: Final = "/storage/v1/b"
BUCKET: Final = f"{BUCKETS}/(?P<bucket>[^/]+)"
OBJECTS: Final = f"{BUCKET}/o"
OBJECT: Final = f"{OBJECTS}/(?P<name>[^/]+)"
TARGET: Final = "/b/(?P<target_bucket>[^/]+)/o/(?P<target>[^/]+)"


class Api:
    """The JSON API over one store, and the uploads to it that are under way."""

    def __init__(self, store: Store, sessions: Sessions, faults: Faults) -> None:
        self._faults = faults
        buckets = bucket_routes.BucketRoutes(store)
        objects = object_routes.ObjectRoutes(store)
        uploads = upload_routes.UploadRoutes(store, sessions)
        self._routes: list[tuple[str, re.Pattern[str], Route]] = [
            (verb, re.compile(path), route)
            for verb, path, route in (
                ("GET", BUCKETS, buckets.list),
                ("POST", BUCKETS, buckets.insert),
                ("GET", BUCKET, buckets.get),
                ("PATCH", BUCKET, buckets.patch),
                ("PUT", BUCKET, buckets.update),
                ("DELETE", BUCKET, buckets.delete),
                ("GET", OBJECTS, objects.list),
                ("GET", f"(?:/download)?{OBJECT}", objects.get),
                ("PATCH", OBJECT, objects.patch),
                ("PUT", OBJECT, objects.update),
                ("DELETE", OBJECT, objects.delete),
                ("POST", f"{OBJECT}/compose", objects.compose),
                ("POST", f"{OBJECT}/moveTo/o/(?P<target>[^/]+)", objects.move),
                ("POST", f"{OBJECT}/copyTo{TARGET}", objects.copy),
                ("POST", f"{OBJECT}/rewriteTo{TARGET}", objects.rewrite),
                ("POST", f"(?:/resumable)?/upload{OBJECTS}", uploads.begin),
                ("PUT", f"(?:/resumable)?/upload{OBJECTS}", uploads.go_on),
                ("DELETE", f"(?:/resumable)?/upload{OBJECTS}", uploads.cancel),
            )
        ]

    def __call__(self, request: Request) -> Reply:
        if mounted(request.path):
            face = answer(self._faults, request.method, request.path, request.query, request.body)
            return Reply.json(face.value, face.status)
        if (request.method, request.path) == ("POST", "/batch/storage/v1"):
            return batch.answered(request, self)
        try:
            operation = self._operation(request)
            with self._faults.call("storage", operation.method, operation.resource) as fault:
                reply = operation.run()
            return _shaped(reply, fault)
        except StorageError as error:
            return _failed(request, error)
        except StatusReturned as end:
            return _failed(request, StorageError.of_status(end.status), end.status.retry_after)

    def _operation(self, request: Request) -> Operation:
        for verb, path, route in self._routes:
            match = path.fullmatch(request.path) if verb == request.method else None
            if match:
                return route(request, **{name: unquote(text) for name, text in match.groupdict().items()})
        raise StorageError(404, f"Not Found: no operation is at {request.method} {request.path}")


def _shaped(reply: Reply, fault: Fault) -> Reply:
    body = reply.body if isinstance(reply.body, bytes) else b""
    match fault.shape:
        case "truncated_body":
            return replace(reply, cut=len(body) // 2)
        case "corrupted_body":
            return replace(reply, body=bytes([body[0] ^ 1]) + body[1:] if body else b"?")
    return reply


def _failed(request: Request, error: StorageError, retry_after: float | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": str(math.ceil(retry_after))}
    if request.query.get("alt") == "media":  # who asks for bytes gets words, not JSON
        kind = {"Content-Type": "text/html; charset=UTF-8"}
        return Reply(error.code, error.message.encode(), headers | kind)
    return Reply.json(error.body(), error.code, headers)
