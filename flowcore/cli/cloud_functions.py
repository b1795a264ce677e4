"""Whether functions are there: those on this machine by asking them, those in the cloud by its list of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

URL = "https://cloudfunctions.googleapis.com"
SCOPES = ("https://www.googleapis.com/auth/cloud-platform.read-only",)
SECONDS = 30


class Unknown(Exception):
    """The list cannot be had; the message says why."""


def answers(url: str, seconds: float) -> bool:
    """Anything will do, and be it 404: to a question that no HTTP function gets to see."""
    import requests

    try:
        parts = urlsplit(url)
        requests.get(f"{parts.scheme}://{parts.netloc}/robots.txt", timeout=seconds)
    except requests.RequestException:
        return False
    return True


def deployed(project: str) -> dict[str, set[str]]:
    """Each function of the project, and the names of its variables and secrets."""
    from google.auth import default
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport import requests as transport
    from requests import RequestException

    try:
        account, _ = default(scopes=SCOPES)
        session: Any = transport.AuthorizedSession(account)  # type: ignore[no-untyped-call]
        return listed(session, URL, project)
    except (GoogleAuthError, RequestException) as error:
        reason = getattr(getattr(error, "response", None), "status_code", type(error).__name__)
        raise Unknown(f"the list of functions cannot be read ({reason})") from error


def listed(session: Any, url: str, project: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    token = ""
    while True:
        place = f"{url}/v2/projects/{project}/locations/-/functions"
        answer = session.get(place, params={"pageToken": token} if token else None, timeout=SECONDS)
        answer.raise_for_status()
        page = answer.json()
        for each in page.get("functions", []):
            service = each.get("serviceConfig") or {}
            secrets = {secret["key"] for secret in service.get("secretEnvironmentVariables", [])}
            name = each["name"].rpartition("/")[2].replace("-", "_")
            found[name] = secrets | set(service.get("environmentVariables", {}))
        token = page.get("nextPageToken", "")
        if not token:
            return found
