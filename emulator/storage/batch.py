"""Many calls in one request: each part of the body is a request of its own, each part of the reply its answer."""

import uuid
from email import message_from_bytes
from http.client import responses

from emulator.storage.errors import StorageError
from emulator.storage.uploads import parts_of
from emulator.web import Reply, Request, Service


def answered(request: Request, service: Service) -> Reply:
    try:
        inner = [_request(part, request.host) for _, part in parts_of(request.headers["Content-Type"], request.body)]
    except StorageError as error:
        return Reply.json(error.body(), error.code)
    boundary = f"batch_{uuid.uuid4().hex}"
    parts = [_part(number, service(one)) for number, one in enumerate(inner)]
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts) + f"--{boundary}--\r\n".encode()
    return Reply(200, body, {"Content-Type": f'multipart/mixed; boundary="{boundary}"'})


def _request(part: bytes, host: str) -> Request:
    first, _, rest = part.partition(b"\r\n" if b"\r\n" in part else b"\n")
    method, target, *_ = first.decode().split(" ")
    message = message_from_bytes(rest)
    body = message.get_payload(decode=True)
    del message["Host"]
    message["Host"] = host
    return Request(method, target, message, body.strip() if isinstance(body, bytes) else b"")


def _part(number: int, reply: Reply) -> bytes:
    body = reply.body if isinstance(reply.body, bytes) else b"".join(reply.body)
    lines = [
        "Content-Type: application/http",
        f"Content-ID: <response-{number}>",
        "",
        f"HTTP/1.1 {reply.status} {responses.get(reply.status, '')}",
        *(f"{name}: {value}" for name, value in reply.headers.items()),
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body
