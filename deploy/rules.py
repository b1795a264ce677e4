"""The security rules of a database: gcloud has no command for them, so this is one. They are shown, or released."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from deploy.database import RULES

# As gcloud does it: the address of a service can be another's.
SERVICE = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_FIREBASERULES", "https://firebaserules.googleapis.com/")
SECONDS = 30
Call = Callable[
    [str, str, Mapping[str, Any] | None], Any
]  # method, path, body → the answer; None: there is no such thing


def show(call: Call, project: str, database: str) -> dict[str, str | None]:
    release = call("GET", f"v1/projects/{project}/releases/{_release(database)}", None)
    if release is None:
        return {"ruleset": None, "rules": None}
    ruleset = call("GET", f"v1/{release['rulesetName']}", None)
    return {"ruleset": release["rulesetName"], "rules": ruleset["source"]["files"][0]["content"]}


def release(call: Call, project: str, database: str) -> None:
    source = {"files": [{"name": RULES.name, "content": RULES.read_text("utf-8")}]}
    ruleset = call("POST", f"v1/projects/{project}/rulesets", {"source": source})
    name = f"projects/{project}/releases/{_release(database)}"
    call("POST", f"v1/projects/{project}/releases", {"name": name, "rulesetName": ruleset["name"]})


def _release(database: str) -> str:
    return "cloud.firestore" if database == "(default)" else f"cloud.firestore/{database}"


def _over_the_wire(project: str) -> Call:
    token = subprocess.run(
        ["gcloud", "auth", "print-access-token"],  # noqa: S607 - the one on the PATH is the one that is logged in
        capture_output=True, text=True, check=True, timeout=SECONDS,
    ).stdout.strip()  # fmt: skip

    def call(method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        request = Request(  # noqa: S310 - the address is ours
            SERVICE + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "authorization": f"Bearer {token}",
                "content-type": "application/json",
                "x-goog-user-project": project,
            },
        )
        try:
            with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                return json.load(answer)
        except HTTPError as refused:
            if refused.code == 404 and method == "GET":
                return None
            sys.exit(f"{method} {path}: {refused.code} {refused.read().decode(errors='replace')[:500]}")

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["show", "release"])
    parser.add_argument("--project", required=True)
    parser.add_argument("--database", required=True)
    asked = parser.parse_args()
    call = _over_the_wire(asked.project)
    if asked.what == "show":
        print(json.dumps(show(call, asked.project, asked.database)))
    else:
        release(call, asked.project, asked.database)


if __name__ == "__main__":
    main()
