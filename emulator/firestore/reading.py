"""The calls that read: documents by name, queries, aggregations, lists; now, in the past, or in a transaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from emulator.firestore import aggregations, paths, queries, values
from emulator.firestore.documents import Documents
from emulator.firestore.errors import Code, Refused, invalid
from emulator.firestore.queries import Query
from emulator.firestore.store import Store
from emulator.firestore.transactions import Transaction, Transactions, Versions
from emulator.firestore.wire import (
    BatchGetDocumentsRequest,
    BatchGetDocumentsResponse,
    Document,
    DocumentMask,
    GetDocumentRequest,
    ListCollectionIdsRequest,
    ListCollectionIdsResponse,
    ListDocumentsRequest,
    ListDocumentsResponse,
    RunAggregationQueryRequest,
    RunAggregationQueryResponse,
    RunQueryRequest,
    RunQueryResponse,
    StructuredQuery,
    TransactionOptions,
)

Item = TypeVar("Item")


class Consistent(Protocol):
    """Every request that says from which moment it wants to read."""

    transaction: bytes
    read_time: Timestamp

    def WhichOneof(self, oneof_group: str) -> str | None: ...  # noqa: N802 - protobuf's name


@dataclass(frozen=True, slots=True)
class Moment:
    """From where a call reads: a transaction, a time in the past, or now."""

    database: str
    time: int
    at: int | None = None
    transaction: Transaction | None = None
    began: bytes = b""  # the id of a transaction that began with this call


class Reading:
    """Each method answers one call."""

    def __init__(self, store: Store, transactions: Transactions) -> None:
        self._store = store
        self._transactions = transactions

    # --- by name ---------------------------------------------------------------------------------------------

    def get_document(self, request: GetDocumentRequest) -> Document:
        with self._store.lock:
            moment = self._moment(paths.database_of(request.name), request)
            [document] = self._fetch(moment, [request.name])
        if document is None:
            raise Refused(Code.NOT_FOUND, f"Document ({request.name}) not found.")
        return _masked(document, request.mask if request.HasField("mask") else None)

    def batch_get_documents(self, request: BatchGetDocumentsRequest) -> Iterator[BatchGetDocumentsResponse]:
        names = list(dict.fromkeys(request.documents))
        for name in names:
            if paths.database_of(name) != request.database:
                raise invalid(f'Document name "{name}" is not in the database "{request.database}".')
        with self._store.lock:
            moment = self._moment(request.database, request, request.new_transaction)
            documents = self._fetch(moment, names)
        mask = request.mask if request.HasField("mask") else None
        read_time = values.timestamp(moment.time)
        if moment.began:
            yield BatchGetDocumentsResponse(transaction=moment.began)
        for name, document in zip(names, documents, strict=True):
            if document is None:
                yield BatchGetDocumentsResponse(missing=name, read_time=read_time)
            else:
                yield BatchGetDocumentsResponse(found=_masked(document, mask), read_time=read_time)

    # --- queries ---------------------------------------------------------------------------------------------

    def run_query(self, request: RunQueryRequest) -> Iterator[RunQueryResponse]:
        query = queries.compiled(request.parent, _structured(request.structured_query, request))
        with self._store.lock:
            moment = self._moment(paths.database_of(request.parent), request, request.new_transaction)
            found = self._find(moment, query)
        read_time = values.timestamp(moment.time)
        if moment.began:
            yield RunQueryResponse(transaction=moment.began)
        for position, document in enumerate(found, 1):
            shown = query.present(document)
            yield RunQueryResponse(document=shown, read_time=read_time, done=position == len(found))
        if not found:
            yield RunQueryResponse(read_time=read_time, done=True)

    def run_aggregation_query(self, request: RunAggregationQueryRequest) -> Iterator[RunAggregationQueryResponse]:
        asked = request.structured_aggregation_query
        aggregations.check(asked.aggregations)
        added_up = aggregations.fields(asked.aggregations)
        query = queries.compiled(request.parent, _structured(asked.structured_query, request), added_up)
        with self._store.lock:
            moment = self._moment(paths.database_of(request.parent), request, request.new_transaction)
            found = self._find(moment, query)
        result = aggregations.aggregate(asked.aggregations, found)
        if moment.began:
            yield RunAggregationQueryResponse(transaction=moment.began)
        yield RunAggregationQueryResponse(result=result, read_time=values.timestamp(moment.time))

    # --- lists -----------------------------------------------------------------------------------------------

    def list_documents(self, request: ListDocumentsRequest) -> ListDocumentsResponse:
        query = queries.compiled(request.parent, _listing(request))
        with self._store.lock:
            moment = self._moment(paths.database_of(request.parent), request)
            found = self._find(moment, query)
            if request.show_missing:
                stored = self._documents(moment)
                found = sorted([*found, *_ghosts(stored, query)], key=lambda document: paths.sort_key(document.name))
        mask = request.mask if request.HasField("mask") else None
        page, token = _page([_masked(document, mask) for document in found], request.page_size, request.page_token)
        return ListDocumentsResponse(documents=page, next_page_token=token)

    def list_collection_ids(self, request: ListCollectionIdsRequest) -> ListCollectionIdsResponse:
        paths.check_parent(request.parent)
        database = paths.database_of(request.parent)
        at = values.microseconds(request.read_time) if request.HasField("read_time") else None
        with self._store.lock:
            below = self._store.documents(database, at).collections_below(request.parent)
        first_segments = {collection.removeprefix(request.parent + "/").split("/")[0] for collection in below}
        page, token = _page(sorted(first_segments), request.page_size, request.page_token)
        return ListCollectionIdsResponse(collection_ids=page, next_page_token=token)

    # --- moments ---------------------------------------------------------------------------------------------

    def _moment(self, database: str, request: Consistent, new: TransactionOptions | None = None) -> Moment:
        match request.WhichOneof("consistency_selector"):
            case "transaction":
                transaction = self._transactions.find(request.transaction, database)
                return self._within(transaction)
            case "new_transaction":
                transaction = self._transactions.begin(database, new or TransactionOptions())
                return self._within(transaction, began=transaction.id)
            case "read_time":
                at = values.microseconds(request.read_time)
                return Moment(database, at, at)
            case _:
                return Moment(database, self._store.now())

    def _within(self, transaction: Transaction, began: bytes = b"") -> Moment:
        time = self._store.now() if transaction.snapshot is None else transaction.snapshot
        return Moment(transaction.database, time, transaction=transaction, began=began)

    def _fetch(self, moment: Moment, names: Sequence[str]) -> list[Document | None]:
        for name in names:
            paths.check_document(name)
        if moment.transaction:
            self._transactions.hold(moment.transaction, names)
        stored = self._documents(moment)
        documents = [stored.get(name) for name in names]
        if moment.transaction:
            for name, document in zip(names, documents, strict=True):
                self._transactions.saw(moment.transaction, name, document)
        return documents

    def _find(self, moment: Moment, query: Query) -> list[Document]:
        transaction = moment.transaction
        if transaction:
            ahead = query.run(self._documents(moment))
            self._transactions.hold(transaction, [document.name for document in ahead])
        found = query.run(self._documents(moment))
        if transaction:
            again = partial(self._versions_now, moment.database, query)
            self._transactions.looked(transaction, again, _versions(found))
        return found

    def _documents(self, moment: Moment) -> Documents:
        at = moment.transaction.snapshot if moment.transaction else moment.at
        return self._store.documents(moment.database, at)

    def _versions_now(self, database: str, query: Query) -> Versions:
        return _versions(query.run(self._store.documents(database)))


def _versions(documents: Sequence[Document]) -> Versions:
    return tuple((document.name, values.microseconds(document.update_time)) for document in documents)


def _structured(query: StructuredQuery, request: RunQueryRequest | RunAggregationQueryRequest) -> StructuredQuery:
    if request.WhichOneof("query_type") is None:
        raise invalid("The request has no query.")
    return query


def _masked(document: Document, mask: DocumentMask | None) -> Document:
    if mask is None:
        return document
    return values.project(document, [paths.parse_field(path) for path in mask.field_paths])


def _listing(request: ListDocumentsRequest) -> StructuredQuery:
    """A list is a query, spelled differently: `order_by` is text such as "priority desc, __name__ desc"."""
    query = StructuredQuery(from_=[StructuredQuery.CollectionSelector(collection_id=request.collection_id)])
    for part in filter(None, request.order_by.split(",")):
        field, _, direction = part.strip().partition(" ")
        descending = direction.strip().lower() == "desc"
        query.order_by.add(
            field=StructuredQuery.FieldReference(field_path=field),
            direction=StructuredQuery.DESCENDING if descending else StructuredQuery.ASCENDING,
        )
    return query


def _ghosts(documents: Documents, query: Query) -> list[Document]:
    """Names that are not documents, but have documents below them."""
    root = f"{query.parent}/{query.collection_id}" if query.collection_id else query.parent
    names: set[str] = set()
    for collection in documents.collections_below(root):
        below = collection.removeprefix(root + "/").split("/")
        names.add("/".join([root, *below[: 1 if query.collection_id else 2]]))
    return [Document(name=name) for name in names if documents.get(name) is None]


def _page(items: list[Item], size: int, token: str) -> tuple[list[Item], str]:
    """A part of a list, and where the next part begins."""
    if token and not token.isdigit():
        raise invalid("The page token is not one of ours.")
    start = int(token or 0)
    end = start + size if size > 0 else len(items)
    return items[start:end], str(end) if end < len(items) else ""
