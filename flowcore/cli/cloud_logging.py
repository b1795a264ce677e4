"""A run's log lines from Cloud Logging, by its REST API: one question is not worth a library of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from flowcore.cli.log_lines import Line
from flowcore.cli.problems import Exit, Problem
from flowcore.domain.times import from_value, to_text

URL = "https://logging.googleapis.com/v2/entries:list"
SCOPES = ("https://www.googleapis.com/auth/logging.read",)
PAGE = 1000
SECONDS = 30


def lines(project: str, run_id: str, since: datetime | None, environment: str | None) -> list[Line]:
    """With the account that gcloud knows. Where that does not do, the command that would is named."""
    from google.auth import default
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport import requests as transport
    from requests import RequestException

    wanted = matching(run_id, since, environment)
    try:
        account, _ = default(scopes=SCOPES)
        session: Any = transport.AuthorizedSession(account)  # type: ignore[no-untyped-call]
        return list(entries(session, URL, project, wanted))
    except (GoogleAuthError, RequestException) as error:
        reason = getattr(getattr(error, "response", None), "status_code", type(error).__name__)
        raise Problem(
            f"Cloud Logging of {project} cannot be read ({reason}); try: {by_hand(project, wanted)}",
            Exit.UNREACHABLE,
        ) from None


def by_hand(project: str, wanted: str) -> str:
    """The same, for a shell."""
    return f"gcloud logging read {shlex.quote(wanted)} --project {shlex.quote(project)} --order asc --format json"


def entries(session: Any, url: str, project: str, wanted: str) -> Iterator[Line]:
    """Page by page, the oldest first."""
    asked: dict[str, Any] = {
        "resourceNames": [f"projects/{project}"],
        "filter": wanted,
        "orderBy": "timestamp asc",
        "pageSize": PAGE,
    }
    while True:
        answer = session.post(url, json=asked, timeout=SECONDS)
        answer.raise_for_status()
        page = answer.json()
        yield from map(_line, page.get("entries", []))
        if not page.get("nextPageToken"):
            return
        asked["pageToken"] = page["nextPageToken"]


def matching(run_id: str, since: datetime | None, environment: str | None) -> str:
    """Without a bound Cloud Logging looks at the last day alone; and another environment may know the same id."""
    bound = f' AND timestamp>="{to_text(since)}"' if since else ""
    ours = f' AND resource.labels.service_name=~"^{environment}-"' if environment else ""
    return f'jsonPayload.run_id="{run_id}"{bound}{ours}'


def _line(entry: dict[str, Any]) -> Line:
    """The envelope's severity and time have become the entry's own; the service's name is a label."""
    fields = entry.get("jsonPayload") or {}
    labels = (entry.get("resource") or {}).get("labels") or {}
    service = fields.get("service") or labels.get("service_name") or labels.get("function_name") or ""
    return Line(from_value(entry.get("timestamp")), str(service), str(entry.get("severity", "INFO")), fields)
