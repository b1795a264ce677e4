"""Secret Manager: a secret is a row of versions, and only who may read it gets to see one."""

import base64
from typing import Final

import google_crc32c

from emulator.control_plane.apis.projects import number_of
from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import Refused, invalid, not_found
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi, Route

API: Final = "secretmanager"
ACCESSOR: Final = "roles/secretmanager.secretAccessor"
HOST: Final = "secretmanager.googleapis.com"


class Secrets(Collection):
    def __init__(self, state: State) -> None:
        super().__init__(state, API, "projects/*/secrets/*", id_parameter="secretId")
        self._payloads: dict[str, bytes] = {}

    def complete(self, name: Name, wish: Json) -> Json:
        return {**super().complete(name, wish), "name": _numbered(name.path)}

    def shown(self, name: Name, content: Json) -> Json:
        return {**content, "etag": f'"{self._state.resources.etag(name)}"'}

    def add_version(self, asked: Asked) -> Json:
        payload = asked.body.get("payload", {})
        data = base64.b64decode(payload.get("data", ""))
        self._state.resources.get(Name(API, asked.name))
        if str(google_crc32c.value(data)) != str(payload.get("dataCrc32c", google_crc32c.value(data))):
            raise invalid("The payload is not what its checksum says.")
        number = len(self._versions(asked.name)) + 1
        version = Name(API, f"{asked.name}/versions/{number}")
        self._payloads[version.path] = data
        content = {
            "name": _numbered(version.path),
            "createTime": self._state.now(),
            "state": "ENABLED",
            "clientSpecifiedPayloadChecksum": "dataCrc32c" in payload,
        }
        return self._state.resources.create(version, content)

    def access(self, asked: Asked) -> Json:
        latest = asked.name.endswith("/latest")
        version, data = self.newest(asked.name) if latest else (asked.name, self._payload(asked.name))
        encoded = base64.b64encode(data).decode()
        return {"name": _numbered(version), "payload": {"data": encoded, "dataCrc32c": str(google_crc32c.value(data))}}

    def newest(self, path: str) -> tuple[str, bytes]:
        """The version that `latest` stands for, and what is in it."""
        enabled = [
            name for name, content in self._versions(path.partition("/versions")[0]).items()
            if content["state"] == "ENABLED"
        ]  # fmt: skip
        if not enabled:
            raise not_found(path)
        version = max(enabled, key=lambda name: int(name.id))
        return version.path, self._payloads[version.path]

    def for_function(self, wish: Json, project: str, email: str) -> str:
        """The value of a variable that a function wants from here, if the account that it runs as may read it."""
        owner = wish.get("projectId") or project
        owner = project if owner == number_of(project) else owner
        path = f"projects/{owner}/secrets/{wish['secret']}"
        member = f"serviceAccount:{email}"
        secret = Name(API, path)
        readers = self._state.resources.grants(secret, ACCESSOR)
        readers |= self._state.resources.grants(Name("cloudresourcemanager", f"projects/{owner}"), ACCESSOR)
        if member not in readers:
            raise Refused(
                403,
                f"Permission denied on secret: {path}/versions/{wish.get('version', 'latest')} for Revision service "
                f"account {email}. The service account used must be granted the 'Secret Manager Secret Accessor' role "
                f"({ACCESSOR}) at the secret, project or higher level.",
            )
        version = wish.get("version", "latest")
        data = self.newest(path)[1] if version == "latest" else self._payload(f"{path}/versions/{version}")
        return data.decode()

    def _versions(self, secret: str) -> dict[Name, Json]:
        return self._state.resources.list(API, f"{secret}/versions/*")

    def _payload(self, version: str) -> bytes:
        if version not in self._payloads:
            raise not_found(version)
        return self._payloads[version]


def secret_manager(state: State, secrets: Secrets) -> GoogleApi:
    versions = Collection(state, API, "projects/*/secrets/*/versions/*")
    return GoogleApi(
        API,
        [
            Route("POST", "projects/*/secrets/*:addVersion", "secrets.addVersion", secrets.add_version),
            Route("GET", "projects/*/secrets/*/versions/*:access", "secrets.versions.access", secrets.access),
        ],
        secrets.routes(),
        versions.routes(),
        host=HOST,
    )


def _numbered(path: str) -> str:
    """Secret Manager answers with the project's number, whatever it was asked with."""
    _, project, rest = path.split("/", 2)
    return f"projects/{number_of(project)}/{rest}"
