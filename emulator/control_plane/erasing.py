"""Firestore's bulk delete: every document of some collections goes, wherever they are in the database."""

from collections.abc import Iterator, Sequence
from typing import Final

import grpc
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport

AT_ONCE: Final = 500  # writes in a batch


def erase(host: str, database: str, collections: Sequence[str]) -> int:
    """`database` by its whole name. Returns how many documents there were."""
    with grpc.insecure_channel(host) as channel:
        client = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
        names = [name for collection in collections for name in _documents(client, database, collection)]
        for start in range(0, len(names), AT_ONCE):
            writes = [types.Write(delete=name) for name in names[start : start + AT_ONCE]]
            client.batch_write(types.BatchWriteRequest(database=database, writes=writes))
    return len(names)


def _documents(client: FirestoreClient, database: str, collection: str) -> Iterator[str]:
    everywhere = types.StructuredQuery.CollectionSelector(collection_id=collection, all_descendants=True)
    query = types.StructuredQuery(from_=[everywhere])
    asked = types.RunQueryRequest(parent=f"{database}/documents", structured_query=query)
    for answer in client.run_query(asked):
        if answer.document.name:
            yield answer.document.name
