"""Queries, as they went over the wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter


def queries(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The body of every query from now on."""
    bodies: list[dict[str, Any]] = []
    send: Callable[..., requests.Response] = HTTPAdapter.send

    def noted(self: HTTPAdapter, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        if request.method == "POST" and str(request.url).split("?")[0].endswith("/queries"):
            bodies.append(json.loads(request.body or b"{}"))
        return send(self, request, *args, **kwargs)

    monkeypatch.setattr(HTTPAdapter, "send", noted)
    return bodies


def parameters(body: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["parameterValue"]["value"] for one in body["queryParameters"]}
