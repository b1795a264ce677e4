"""Buckets: Cloud Storage's own server keeps them and what is in them; who may do what with a bucket is kept here."""

from typing import Final
from urllib.parse import unquote, urlsplit

from emulator.control_plane.collection import State
from emulator.control_plane.errors import Refused
from emulator.control_plane.forward import Unreachable, forward
from emulator.control_plane.members import check_members
from emulator.control_plane.resources import Json, Name
from emulator.web import Reply, Request

API: Final = "storage"
PATIENCE: Final = 120.0
PATHS: Final = ("storage", "upload", "download", "resumable", "batch")


class Buckets:
    def __init__(self, state: State, url: str) -> None:
        self._state = state
        self._url = url

    def __call__(self, request: Request, _: str) -> Reply:
        match request.method, *unquote(request.path).strip("/").split("/"):
            case "GET", "storage", "v1", "b", bucket, "iam":
                return Reply.json(self._policy(request, bucket))
            case "GET", "storage", "v1", "b", bucket, "storageLayout":  # gcloud asks before it deletes
                return Reply.json({"kind": "storage#storageLayout", "bucket": bucket, "locationType": "region"})
            case "GET", "storage", "v1", "b", _, "managedFolders":
                return Reply.json({"kind": "storage#managedFolders"})
            case "PUT", "storage", "v1", "b", bucket, "iam":
                policy = request.json()
                check_members(self._state.resources, policy)
                self._policy(request, bucket)
                return Reply.json(_kind(self._state.resources.set_policy(Name(API, f"buckets/{bucket}"), policy)))
        return self._passed_on(request)

    def _policy(self, request: Request, bucket: str) -> Json:
        """A bucket that came into being elsewhere has a policy from the moment when somebody asks."""
        asked = Request("GET", f"/storage/v1/b/{bucket}", request.headers)
        if (answer := self._passed_on(asked)).status != 200:
            raise Refused(answer.status, "The specified bucket does not exist.")
        name = Name(API, f"buckets/{bucket}")
        if self._state.resources.find(name) is None:
            self._state.resources.create(name, {"name": bucket})
        return _kind(self._state.resources.policy(name))

    def _passed_on(self, request: Request) -> Reply:
        target = urlsplit(request.target)
        query = f"?{target.query}" if target.query else ""
        try:
            return forward(request, f"{self._url}{target.path}{query}", timeout=PATIENCE)
        except Unreachable as failure:
            raise Refused(503, f"Cloud Storage does not answer: {failure}") from failure


def _kind(policy: Json) -> Json:
    return {"kind": "storage#policy", **policy}
