"""What is sent to a port by somebody who knows a little: noise, half of HTTP, and requests that are wrong inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.requests import BODY

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TOGETHER: Final = "functions"  # all of them on one port, as nobody has them who has not asked for it
PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "firestore": (  # gRPC and HTTP, on one port
        *("/", "/emulator/v1/projects/other/databases/d/documents", "/emulator/v1/x", "/__history?limit=3"),
        *("/google.firestore.v1.Firestore/Commit", "/v1/projects/p/databases/(default)/documents/a/b"),
    ),
    "storage": (
        *("/storage/v1/b", "/storage/v1/b/artifacts/o", "/storage/v1/b/artifacts/o/x", "/storage/v1/b/%00/o/%ff"),
        *(
            "/upload/storage/v1/b/artifacts/o?uploadType=media&name=x",
            "/upload/storage/v1/b/artifacts/o?uploadType=multipart",
        ),
        *("/upload/storage/v1/b/artifacts/o?uploadType=resumable", "/upload/storage/v1/b/artifacts/o?upload_id=zzz"),
        *(
            "/batch/storage/v1",
            "/download/storage/v1/b/artifacts/o/x?alt=media",
            "/storage/v1/b/artifacts/o?maxResults=-1",
        ),
    ),
    "gemini": (
        *(
            "/v1/models/gemini-3.8-flash:generateContent",
            "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        ),
        *("/v1/models/gemini-3.8-flash:countTokens", "/v1/models/../x:generateContent", "/v1/models"),
    ),
    "bigquery": (
        *(
            "/bigquery/v2/projects/p/queries",
            "/bigquery/v2/projects/p/jobs",
            "/bigquery/v2/projects/p/queries/x?maxResults=a",
        ),
        *(
            "/bigquery/v2/projects/p/datasets",
            "/bigquery/v2/projects/p/datasets/d/tables",
            "/bigquery/v2/projects/p/jobs/x",
        ),
        *("/bigquery/v2/projects/p/datasets/d/tables/t/insertAll", "/bigquery/v2/projects/p/datasets/d/tables/t/data"),
    ),
    "chart_img": ("/v2/tradingview/advanced-chart", "/v2/x"),
    "eventarc": ("/", "/__events", "/__calls", "/__history?since=x", "/__history?limit=-1"),
    TOGETHER: ("/start_flow/", "/sweep/", "/advance_flow/", "/worker_charts/", "/nobody/", "/start_flow/../sweep"),
}
_OF_A_FUNCTION: Final = (
    "/",
    "/",
    "/?every_run=true",
    "/_ah/warmup",
    "/robots.txt",
    "/favicon.ico",
    "/../x",
    "/%00",
    "*",
)
_GOOD: Final[Mapping[str, Any]] = {
    "storage": {"name": "x", "metadata": {"a": "b"}, "contentType": "text/plain"},
    "gemini": {
        "contents": [{"parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}],
        "generationConfig": {"responseJsonSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
    },
    "bigquery": {
        "query": "SELECT 1 AS a", "useLegacySql": False, "parameterMode": "NAMED", "maxResults": 10,
        "queryParameters": [{"name": "a", "parameterType": {"type": "INT64"}, "parameterValue": {"value": "1"}}],
        "configuration": {"query": {"query": "SELECT 1"}}, "datasetReference": {"datasetId": "d", "projectId": "p"},
        "tableReference": {"tableId": "t"}, "schema": {"fields": [{"name": "a", "type": "STRING"}]},
        "rows": [{"json": {"a": 1}}],
    },
    "chart_img": {"symbol": "BINANCE:BTCUSDT", "interval": "1D", "theme": "dark", "studies": [{"name": "Volume"}]},
}  # fmt: skip
_VERBS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get", "BREW", "\x00", "G E T", "PRI")


def noise(hostile: Hostile, service: str) -> bytes:
    """One request, such as it is."""
    match hostile.chance.randrange(10):
        case 0:
            return hostile.chance.randbytes(hostile.chance.randrange(1, 2000))
        case 1:
            return PREFACE[: hostile.chance.randrange(1, 25)] + hostile.chance.randbytes(hostile.chance.randrange(200))
        case 2:
            return PREFACE + _frames(hostile)
        case 3:
            whole = _http(hostile, service)
            return whole[: hostile.chance.randrange(1, len(whole) + 1)]
        case 4:
            return hostile.noisy(_http(hostile, service))
        case 5:
            return (
                b"GET / HTTP/1.1\r\n"
                + b"X-%d: y\r\n" % hostile.chance.randrange(9) * hostile.one((10, 90, 300))
                + b"\r\n"
            )
        case 6:
            return b"GET /" + b"a" * hostile.one((100, 10_000, 70_000)) + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        case _:
            return _http(hostile, service)


def _http(hostile: Hostile, service: str) -> bytes:
    """In order, but for what it says."""
    body = _body(hostile, service)
    length = hostile.one((str(len(body)),) * 8 + ("-1", "99999999999", "x", "0", "1e3"))
    framing = hostile.one(("Content-Length: " + length,) * 5 + ("Transfer-Encoding: chunked", "X-None: 1"))
    if service == TOGETHER and framing.endswith("chunked"):
        framing = "X-None: 1"  # werkzeug's own server reads a broken chunk for ever
    if framing.endswith("chunked") and hostile.likely(0.7):
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    kind = hostile.one(
        ("application/json", "multipart/related; boundary=b", "multipart/mixed", "application/protobuf", "x")
    )
    verb = hostile.one(_VERBS[1:2] * 6 + _VERBS)
    range_ = hostile.one(
        ("", "", "Range: bytes=5-1\r\n", "Content-Range: bytes 0-0/x\r\n", "x-api-key: local-key\r\n", "ce-id: 1\r\n")
    )
    target = hostile.one(PATHS.get(service, _OF_A_FUNCTION))
    lines = f"{verb} {target} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{range_}{framing}\r\n"
    head = f"{lines}x-goog-api-key: local-key\r\n\r\n"
    return head.encode("latin-1", "replace") + body


def _body(hostile: Hostile, service: str) -> bytes:
    good = _GOOD.get(service, {} if service in PATHS and service != TOGETHER else BODY)
    spoiled = hostile.spoiled(good, hostile.chance.randrange(4), value=hostile.json_value)
    if service == "bigquery" and isinstance(spoiled, dict) and hostile.likely(0.4):
        spoiled["query"] = hostile.one(
            ("", "SELECT", "DROP TABLE x", "SELECT * FROM `a.b.c`", hostile.text(), "SELECT @a", "(((")
        )
    return hostile.json_bytes(spoiled) if hostile.likely(0.6) else json.dumps(spoiled).encode("utf-8", "replace")


def _frames(hostile: Hostile) -> bytes:
    """Frames of HTTP/2 with lengths, types, flags and streams by chance."""
    found = b""
    for _ in range(hostile.chance.randrange(1, 6)):
        payload = hostile.chance.randbytes(hostile.chance.randrange(60))
        kind, flags, stream = (
            hostile.chance.randrange(12),
            hostile.chance.randrange(256),
            hostile.chance.randrange(2**31),
        )
        found += len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
    return found
