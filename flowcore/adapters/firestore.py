"""Firestore behind `Runs` and `Documents`.

The client library repeats a commit whose reply was lost, and then reports its own success as a failed precondition.
Here it never repeats anything: a lost reply is silence, and whoever asked reads the document and looks for its token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from google.api_core import exceptions as api
from google.api_core.retry import Retry, if_transient_error
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]

from flowcore.domain.errors import AuthenticationError, Code, ConfigurationError, NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import DELETE, Patch
from flowcore.ports import DOCUMENT_CALL, Conflict, Document, DocumentFull

PAGE = 100
_FINISHED = ["SUCCEEDED", "FAILED", "CANCELLED"]
# Queries only read: the library may ask again by itself.
_ASK_AGAIN = Retry(predicate=if_transient_error, initial=0.5, maximum=8.0, timeout=30.0)
# A conditional write that was refused: the document is no longer the one that it was decided on. NotFound: the document
# is gone, or the database never was; reading it anew tells the two apart.
_LOST = (api.FailedPrecondition, api.AlreadyExists, api.NotFound, api.Aborted)
_NO_SUCH_VERSION = "Invalid base version"
_TOO_LARGE = "exceeds the maximum allowed size"
_SILENCE = (
    api.Aborted,
    api.Cancelled,
    api.DeadlineExceeded,
    api.InternalServerError,
    api.ResourceExhausted,
    api.RetryError,
    api.ServiceUnavailable,
    api.Unknown,
)


class FirestoreRuns:
    def __init__(self, client: firestore.Client, collection: str) -> None:
        self._client = client
        self._collection = client.collection(collection)

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        with _answered(f"{self._collection.id}/{run_id}"):
            found = self._collection.document(run_id).get(retry=None, timeout=_capped(timeout))
        return _as_snapshot(found) if found.exists else None

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        unchanged = self._client.write_option(last_update_time=update_time)
        what = f"{self._collection.id}/{run_id}"
        with _unless_lost(what), _unless_full(what):
            written: Any = self._collection.document(run_id).update(
                _as_updates(patch.changes), option=unchanged, retry=None, timeout=_capped(timeout)
            )
        changed: datetime = written.update_time
        return changed

    def due(self, now: datetime) -> Iterator[Snapshot]:
        seen = set()
        for snapshot in self._pages(self._where("wakeAt", "<=", now).order_by("wakeAt")):
            seen.add(snapshot.run_id)
            yield snapshot
        for snapshot in self._pages(self._where("status", "==", "PENDING")):
            if snapshot.run_id not in seen:
                yield snapshot

    def unfinished(self) -> Iterator[Snapshot]:
        return self._pages(self._where("status", "not-in", _FINISHED).order_by("status"))

    def _where(self, field: str, operator: str, value: object) -> Any:
        return self._collection.where(filter=FieldFilter(field, operator, value))

    def _pages(self, query: Any) -> Iterator[Snapshot]:
        """Page by page: settling a run takes a while, and no query stays open for as long as a sweep lasts."""
        query = query.order_by("__name__").limit(PAGE)
        page = self._page(query)
        while page:
            yield from map(_as_snapshot, page)
            page = self._page(query.start_after(page[-1])) if len(page) == PAGE else []

    def _page(self, query: Any) -> list[Any]:
        with _answered(f"a query of {self._collection.id}"):
            return list(query.stream(retry=_ASK_AGAIN, timeout=DOCUMENT_CALL))


class FirestoreDocuments:
    def __init__(self, client: firestore.Client) -> None:
        self._client = client

    def find(self, path: str, timeout: float = DOCUMENT_CALL) -> Document | None:
        with _answered(path):
            found = self._client.document(path).get(retry=None, timeout=_capped(timeout))
        return Document(found.to_dict() or {}, found.update_time) if found.exists else None

    def create(self, path: str, fields: Mapping[str, object], timeout: float = DOCUMENT_CALL) -> None:
        # Who is told of a conflict believes that the document is there, so nothing else is one.
        with _unless_lost(path, (api.AlreadyExists,)):
            self._client.document(path).create(dict(fields), retry=None, timeout=_capped(timeout))

    def update(
        self, path: str, fields: Mapping[str, object], update_time: datetime, timeout: float = DOCUMENT_CALL
    ) -> None:
        unchanged = self._client.write_option(last_update_time=update_time)
        with _unless_lost(path):
            self._client.document(path).update(
                _as_updates(fields), option=unchanged, retry=None, timeout=_capped(timeout)
            )


@contextmanager
def _unless_lost(what: str, signs: tuple[type[Exception], ...] = _LOST) -> Iterator[None]:
    """A write: besides an answer or silence, it may have come too late."""
    with _answered(what):
        try:
            yield
        except signs as lost:
            raise Conflict(what) from lost
        except api.InvalidArgument as odd:
            # Decided on a version that the document never had (a forged event, or a database that was put back): what
            # there is now has to be read, as after any lost race.
            if _NO_SUCH_VERSION not in str(odd):
                raise
            raise Conflict(what) from odd


@contextmanager
def _unless_full(what: str) -> Iterator[None]:
    try:
        yield
    except api.InvalidArgument as odd:
        if _TOO_LARGE not in str(odd):
            raise
        raise DocumentFull(what) from odd


@contextmanager
def _answered(what: str) -> Iterator[None]:
    try:
        yield
    except _SILENCE as silence:
        raise NetworkError(
            Code.FIRESTORE_UNAVAILABLE, f"{what}: Firestore did not answer ({_status(silence)})", details=_wish(silence)
        ) from silence
    except (api.Forbidden, api.Unauthorized) as refused:
        raise AuthenticationError(
            Code.FIRESTORE_UNAVAILABLE,
            f"{what}: Firestore refused ({_status(refused)}); grant the account roles/datastore.user",
        ) from refused
    except api.GoogleAPICallError as refused:
        raise ConfigurationError(
            Code.FIRESTORE_UNAVAILABLE, f"{what}: Firestore refused ({_status(refused)}); {_advice(refused)}"
        ) from refused


def _advice(refused: Exception) -> str:
    match refused:
        case api.NotFound():
            return "does the database exist?"
        case api.FailedPrecondition():
            return "are the indexes deployed?"
    return "the request cannot be served as it is"


def _status(error: Exception) -> str:
    code = getattr(error, "grpc_status_code", None)
    return code.name if code else type(error).__name__


def _wish(error: Exception) -> Mapping[str, object] | None:
    details: Iterable[object] = getattr(error, "details", None) or ()
    for detail in details:
        if isinstance(detail, RetryInfo):
            return {"retryAfterSeconds": detail.retry_delay.ToTimedelta().total_seconds()}
    return None


def _as_updates(changes: Mapping[str, object]) -> dict[str, object]:
    return {path: firestore.DELETE_FIELD if value is DELETE else value for path, value in changes.items()}


def _capped(timeout: float) -> float:
    return min(timeout, DOCUMENT_CALL)


def _as_snapshot(found: Any) -> Snapshot:
    return Snapshot(found.id, found.to_dict() or {}, found.update_time)
