"""Short words for what the tests do with the client library, which itself is left as it is."""

import datetime as dt
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter

Work = Callable[[], None]


@contextmanager
def connected(host: str, project: str, database: str | None = None) -> Iterator[firestore.Client]:
    """The client library, told in the usual way where Firestore is."""
    with mock.patch.dict(os.environ, FIRESTORE_EMULATOR_HOST=host):
        client = firestore.Client(project=project, database=database)
    try:
        yield client
    finally:
        client.close()  # type: ignore[no-untyped-call]


def where(field: str, op: str, value: Any) -> FieldFilter:
    return FieldFilter(field, op, value)


def ids(query: Any) -> list[str]:
    """The ids of a query's results, in order."""
    return [snapshot.id for snapshot in query.stream()]


def fill(db: firestore.Client, collection: str, **documents: Any) -> firestore.CollectionReference:
    """A collection with these documents; a value that is no dictionary becomes the field `v`."""
    reference = db.collection(collection)
    batch = db.batch()
    for name, fields in documents.items():
        batch.set(reference.document(name), fields if isinstance(fields, dict) else {"v": fields})
    batch.commit()
    return reference


def fields_of(reference: firestore.DocumentReference) -> dict[str, Any] | None:
    return reference.get().to_dict()


def time_of(result: Any) -> dt.datetime:
    """When a write took effect: the library declares a protobuf timestamp, and gives a datetime."""
    time: dt.datetime = result.update_time
    return time


def commit(db: firestore.Client, *writes: types.Write, transaction: bytes = b"") -> types.CommitResponse:
    """A commit that the library does not try again by itself."""
    request = types.CommitRequest(database=db._database_string, writes=writes, transaction=transaction)
    api: Any = db._firestore_api
    response: types.CommitResponse = api.commit(request, retry=None, metadata=db._rpc_metadata, timeout=30)
    return response


def written(db: firestore.Client, path: str, **fields: types.Value) -> types.Write:
    return types.Write(update=types.Document(name=f"{db._database_string}/documents/{path}", fields=fields))


def at_once(*work: Work) -> None:
    """Do all of it in parallel, and fail when one of it fails."""
    failures: list[BaseException] = []

    def guarded(one: Work) -> None:
        try:
            one()
        except BaseException as failure:  # noqa: BLE001 - it is raised again, by who waits
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
