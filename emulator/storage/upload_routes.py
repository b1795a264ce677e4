"""The ways in: `uploadType=media`, `multipart` and `resumable`."""

from typing import Any
from urllib.parse import quote

from emulator.storage.checksums import Checksums
from emulator.storage.conditions import Conditions
from emulator.storage.errors import StorageError, invalid
from emulator.storage.operation import Operation, object_in
from emulator.storage.records import StoredObject, writable
from emulator.storage.store import Store
from emulator.storage.uploads import Session, Sessions, parts_of
from emulator.web import Reply, Request


class UploadRoutes:
    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    def begin(self, request: Request, bucket: str) -> Operation:
        """A POST: the whole upload, or the first word of a resumable one."""
        match request.query.get("uploadType"):
            case "media":
                return self._insert(request, bucket, {}, request.headers.get("Content-Type"), request.body)
            case "multipart":
                (_, metadata), (content_type, data) = _two_parts(request)
                return self._insert(request, bucket, object_in(metadata), content_type, data)
            case "resumable":
                return self._start(request, bucket)
        raise invalid("Invalid value for uploadType: it must be media, multipart or resumable.")

    def go_on(self, request: Request, bucket: str) -> Operation:
        """A PUT to a session: more bytes, or the question how many have come."""
        session = self._session(request)

        def run() -> Reply:
            with session.lock:
                if session.result is None and session.take(request.headers.get("Content-Range"), request.body):
                    session.result = self._finished(session, request)
                    session.data.clear()
                if session.result is not None:
                    return Reply.json(session.result.resource(request.host))
                come = {"Range": f"bytes=0-{len(session.data) - 1}"} if session.data else {}
                return Reply(308, b"", come)

        return Operation("objects.insert.chunk", f"{bucket}/{session.name}", run)

    def cancel(self, request: Request, bucket: str) -> Operation:
        session = self._session(request)

        def run() -> Reply:
            self._sessions.cancel(request.query["upload_id"])
            raise StorageError(499, "The upload was cancelled.")  # the official answer to a cancellation that worked

        return Operation("objects.insert.cancel", f"{bucket}/{session.name}", run)

    def _insert(
        self, request: Request, bucket: str, metadata: dict[str, Any], content_type: str | None, data: bytes
    ) -> Operation:
        name = _name(request, metadata)

        def run() -> Reply:
            created = self._store.insert(
                bucket,
                name,
                data,
                _described(content_type, metadata),
                Conditions.of(request.query),
                claimed=_claimed(request, metadata),
            )
            return Reply.json(created.resource(request.host))

        return Operation("objects.insert", f"{bucket}/{name}", run)

    def _start(self, request: Request, bucket: str) -> Operation:
        metadata = object_in(request.body)
        name = _name(request, metadata)

        def run() -> Reply:
            conditions = Conditions.of(request.query)
            self._store.check(bucket, name, conditions)
            content_type = request.headers.get("X-Upload-Content-Type")
            identity = self._sessions.begin(
                Session(
                    bucket,
                    name,
                    _described(content_type, metadata),
                    conditions,
                    _claimed(request, metadata),
                    _announced(request),
                )
            )
            path = f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable&name={quote(name, safe='')}"
            location = f"http://{request.host}{path}&upload_id={identity}"
            return Reply(200, b"", {"Location": location, "X-GUploader-UploadID": identity})

        return Operation("objects.insert.start", f"{bucket}/{name}", run)

    def _finished(self, session: Session, request: Request) -> StoredObject:
        """The conditions were promised at the beginning, and are kept at the end: another writer may have come."""
        _claimed(request, {}).check(Checksums.of(bytes(session.data)))
        return self._store.insert(
            session.bucket,
            session.name,
            bytes(session.data),
            session.attributes,
            session.conditions,
            claimed=session.claimed,
        )

    def _session(self, request: Request) -> Session:
        return self._sessions.find(request.query.get("upload_id", ""))


def _name(request: Request, metadata: dict[str, Any]) -> str:
    return str(request.query.get("name") or metadata.get("name") or "")


def _described(content_type: str | None, metadata: dict[str, Any]) -> dict[str, Any]:
    """What the metadata says goes before what the headers say."""
    return writable({"contentType": content_type or "application/octet-stream", **metadata})


def _claimed(request: Request, metadata: dict[str, Any]) -> Checksums:
    return Checksums.claimed(metadata, request.headers.get("X-Goog-Hash"), request.headers.get("Content-MD5"))


def _announced(request: Request) -> int | None:
    text = request.headers.get("X-Upload-Content-Length")
    if text is not None and not text.isdigit():
        raise invalid(f"Invalid value for X-Upload-Content-Length: {text!r} is not a number of bytes.")
    return int(text) if text else None


def _two_parts(request: Request) -> list[tuple[str, bytes]]:
    parts = parts_of(request.headers.get("Content-Type", ""), request.body)
    if len(parts) != 2:
        raise invalid("Malformed multipart body: it has to have two parts, the metadata and the content.")
    return parts
