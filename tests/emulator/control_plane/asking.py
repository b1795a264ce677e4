"""The control plane as a client library would ask it, and the few things that a deployment needs first."""

import base64
import io
import json
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from typing import Any

PROJECT = "demo-local"
REGION = "europe-west1"
APIS = (
    "artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "eventarc", "firestore", "iam", "pubsub",
    "run", "secretmanager",
)  # fmt: skip
HERE = f"projects/{PROJECT}/locations/{REGION}"


def email(account: str) -> str:
    return f"{account}@{PROJECT}.iam.gserviceaccount.com"


def zipped(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return content.getvalue()


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]

    @property
    def message(self) -> str:
        return str(self.body["error"]["message"])


@dataclass(frozen=True)
class Asking:
    url: str

    def __call__(self, method: str, path: str, body: Any = None) -> Answer:
        data = json.dumps(body).encode() if body is not None else None
        return self.raw(method, path, data)

    def raw(self, method: str, path: str, data: bytes | None, headers: dict[str, str] | None = None) -> Answer:
        request = urllib.request.Request(f"{self.url}/{path}", data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return Answer(answer.status, _json(answer.read()))
        except urllib.error.HTTPError as refused:
            return Answer(refused.code, _json(refused.read()))

    def done(self, api: str, operation: Answer, within: float = 60.0) -> dict[str, Any]:
        """The operation when it is done."""
        assert operation.status == 200, operation.body
        deadline = time.monotonic() + within
        while True:
            found = self("GET", f"{api}/v1/{operation.body['name']}").body
            if found["done"]:
                return found
            assert time.monotonic() < deadline, f"{operation.body} is never done"
            time.sleep(0.02)

    def grant(self, resource: str, role: str, *accounts: str) -> None:
        members = [f"serviceAccount:{email(account)}" for account in accounts]
        granted = self(
            "POST", f"{resource}:setIamPolicy", {"policy": {"bindings": [{"role": role, "members": members}]}}
        )
        assert granted.status == 200, granted.body

    def prepare(self) -> None:
        """Everything that has to be there before a function can be."""
        names = [f"{name}.googleapis.com" for name in APIS]
        enabling = self("POST", f"serviceusage/v1/projects/{PROJECT}/services:batchEnable", {"serviceIds": names})
        self.done("serviceusage", enabling)
        for account in ("worker", "trigger", "scheduler"):
            self("POST", f"iam/v1/projects/{PROJECT}/serviceAccounts", {"accountId": account})
        self.grant(f"cloudresourcemanager/v1/projects/{PROJECT}", "roles/eventarc.eventReceiver", "trigger")
        database = {"locationId": REGION, "type": "FIRESTORE_NATIVE"}
        self.done(
            "firestore", self("POST", f"firestore/v1/projects/{PROJECT}/databases?databaseId=(default)", database)
        )
        secret = f"secretmanager/v1/projects/{PROJECT}/secrets"
        self("POST", f"{secret}?secretId=key", {"replication": {"automatic": {}}})
        self("POST", f"{secret}/key:addVersion", {"payload": {"data": base64.b64encode(b"sesame").decode()}})

    def uploaded(self, files: dict[str, str]) -> dict[str, Any]:
        announced = self("POST", f"cloudfunctions/v2/{HERE}/functions:generateUploadUrl", {}).body
        path = announced["uploadUrl"].removeprefix(self.url + "/")
        assert self.raw("PUT", path, zipped(files)).status == 200
        return {"storageSource": announced["storageSource"]}

    def function(self, name: str, wish: dict[str, Any]) -> Answer:
        return self("POST", f"cloudfunctions/v2/{HERE}/functions?functionId={name}", wish)

    def described(self, name: str) -> dict[str, Any]:
        return self("GET", f"cloudfunctions/v2/{HERE}/functions/{name}").body


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content or b"{}")
    except ValueError:
        value = {"text": content.decode()}
    return value if isinstance(value, dict) else {"value": value}
