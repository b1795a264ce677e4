"""google.firestore.v1.Firestore over gRPC: which call goes where, what can go wrong with it, how a refusal travels.

Every call passes the faults, with its name and the path of what it touches (`flow_runs/r1`, below the database's
documents; of a batch those of all), before it has any effect and again before its reply is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message

from emulator.faults import Disconnected, Faults, Status, StatusReturned
from emulator.faults.callers import Connection, called_from
from emulator.firestore import paths, wire, writes
from emulator.firestore.changes import Commit
from emulator.firestore.errors import Code, Refused, invalid, missing
from emulator.firestore.listen import Listener
from emulator.firestore.reading import Reading
from emulator.firestore.transactions import Transactions
from emulator.firestore.wire import ListenRequest, ListenResponse, Write
from emulator.firestore.writing import Writing

SERVICE: Final = "firestore"
PREFIX: Final = "/google.firestore.v1.Firestore/"


@dataclass(frozen=True, slots=True)
class Call:
    """One method of the service."""

    request: Any
    response: Any
    answer: Callable[[Any], Any]
    names: Callable[[Any], list[str]]
    writes: Callable[[Any], list[str]] = lambda _: []
    streams: bool = False


class FirestoreService(grpc.GenericRpcHandler):
    """The handlers of all calls; one that is not there is named in the refusal."""

    def __init__(self, transactions: Transactions, faults: Faults, origin: Callable[[int], Connection | None]) -> None:
        self._store = store = transactions.store
        self._faults = faults
        self._origin = origin
        reading = Reading(store, transactions)
        self._calls = _calls(reading, Writing(transactions, reading))

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        method: str = handler_call_details.method
        if not method.startswith(PREFIX):
            return None
        name = method.removeprefix(PREFIX)
        if name == "Listen":
            return grpc.stream_stream_rpc_method_handler(self._listen, None, ListenResponse.SerializeToString)
        if name not in self._calls:
            return grpc.stream_stream_rpc_method_handler(_unknown(name))
        call = self._calls[name]
        decode, encode = call.request.FromString, call.response.SerializeToString
        if call.streams:
            return grpc.unary_stream_rpc_method_handler(self._streamed(name, call), decode, encode)
        return grpc.unary_unary_rpc_method_handler(self._answered(name, call), decode, encode)

    def _answered(self, name: str, call: Call) -> Callable[[Any, grpc.ServicerContext], Message]:
        def serve(request: Any, context: grpc.ServicerContext) -> Message:
            with _refusals(context), self._weather(context, name, call.names(request)):
                self._throttle(call.writes(request))
                reply: Message = call.answer(request)
            return reply

        return serve

    def _streamed(self, name: str, call: Call) -> Callable[[Any, grpc.ServicerContext], Iterator[Message]]:
        def serve(request: Any, context: grpc.ServicerContext) -> Iterator[Message]:
            with _refusals(context), self._weather(context, name, call.names(request)):
                replies: list[Message] = list(call.answer(request))
            yield from replies

        return serve

    def _listen(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[ListenResponse]:
        listener = Listener(self._store)
        context.add_callback(listener.close)
        with _refusals(context):
            for message in listener.messages(requests):
                yield from self._heard(context, listener, message)

    def _heard(
        self, context: grpc.ServicerContext, listener: Listener, message: bytes | Commit
    ) -> list[ListenResponse]:
        if isinstance(message, Commit):
            return listener.committed(message)
        request = _read(message)
        if request.WhichOneof("target_change") == "remove_target":
            return listener.remove(request)
        with self._weather(context, "Listen", _listened(request)):
            return listener.add(request)

    @contextmanager
    def _weather(self, context: grpc.ServicerContext, method: str, names: list[str]) -> Iterator[None]:
        """The body is the effect of the call."""

        def origin() -> Connection | None:
            return self._origin(int(context.peer().rpartition(":")[2]))

        with called_from(origin), self._faults.call(SERVICE, method, *names):
            yield

    def _throttle(self, names: list[str]) -> None:
        if names and (fault := self._faults.throttle(names)):
            fault.strike()


# --- refusals ------------------------------------------------------------------------------------------------


@contextmanager
def _refusals(context: grpc.ServicerContext) -> Iterator[None]:
    """Whatever turns the call down, as the status that the client library understands."""
    try:
        yield
    except Refused as refused:
        context.abort(grpc.StatusCode[refused.code.name], refused.message)
    except StatusReturned as returned:
        _abort(context, returned.status)
    except Disconnected as end:
        # One call cannot close a connection that others share; to its caller this looks the same.
        context.abort(grpc.StatusCode.UNAVAILABLE, "Connection refused" if end.refused else "Socket closed")


def _abort(context: grpc.ServicerContext, status: Status) -> NoReturn:
    code = grpc.StatusCode[status.name]
    if status.retry_after is not None:
        number: int = code.value[0]
        details = wire.Status(code=number, message=status.message)
        delay = Duration()
        delay.FromNanoseconds(int(status.retry_after * 1e9))
        details.details.add().Pack(wire.RetryInfo(retry_delay=delay))
        context.set_trailing_metadata((("grpc-status-details-bin", details.SerializeToString()),))
    context.abort(code, status.message)


def _unknown(name: str) -> Callable[[Any, grpc.ServicerContext], Iterator[bytes]]:
    def serve(_: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
        refused = missing(f"the call {name}")
        context.abort(grpc.StatusCode[Code.UNIMPLEMENTED.name], refused.message)

    return serve


# --- the table -----------------------------------------------------------------------------------------------


def _calls(reading: Reading, writing: Writing) -> dict[str, Call]:
    def one(request: Any) -> list[str]:
        return [paths.relative(request.name)]

    def updated(request: Any) -> list[str]:
        return one(request.document)

    def below(request: Any) -> list[str]:
        return [_joined(request.parent, request.collection_id)]

    def created(request: Any) -> list[str]:
        return [f"{_joined(request.parent, request.collection_id)}/{request.document_id}"]

    def queried(request: Any) -> list[str]:
        return [_queried(request.parent, request.structured_query)]

    def counted(request: Any) -> list[str]:
        return [_queried(request.parent, request.structured_aggregation_query.structured_query)]

    def nothing(_: Any) -> list[str]:
        return []

    return {
        "Commit": Call(wire.CommitRequest, wire.CommitResponse, writing.commit, _targets, _targets),
        "BatchWrite": Call(wire.BatchWriteRequest, wire.BatchWriteResponse, writing.batch_write, _targets, _targets),
        "CreateDocument": Call(wire.CreateDocumentRequest, wire.Document, writing.create_document, created, created),
        "UpdateDocument": Call(wire.UpdateDocumentRequest, wire.Document, writing.update_document, updated, updated),
        "DeleteDocument": Call(wire.DeleteDocumentRequest, Empty, writing.delete_document, one, one),
        "BeginTransaction": Call(
            wire.BeginTransactionRequest, wire.BeginTransactionResponse, writing.begin_transaction, nothing
        ),
        "Rollback": Call(wire.RollbackRequest, Empty, writing.rollback, nothing),
        "GetDocument": Call(wire.GetDocumentRequest, wire.Document, reading.get_document, one),
        "BatchGetDocuments": Call(
            wire.BatchGetDocumentsRequest,
            wire.BatchGetDocumentsResponse,
            reading.batch_get_documents,
            lambda request: _several(request.documents),
            streams=True,
        ),
        "RunQuery": Call(wire.RunQueryRequest, wire.RunQueryResponse, reading.run_query, queried, streams=True),
        "RunAggregationQuery": Call(
            wire.RunAggregationQueryRequest,
            wire.RunAggregationQueryResponse,
            reading.run_aggregation_query,
            counted,
            streams=True,
        ),
        "ListDocuments": Call(wire.ListDocumentsRequest, wire.ListDocumentsResponse, reading.list_documents, below),
        "ListCollectionIds": Call(
            wire.ListCollectionIdsRequest,
            wire.ListCollectionIdsResponse,
            reading.list_collection_ids,
            lambda request: [paths.relative(request.parent)],
        ),
    }


def _targets(request: Any) -> list[str]:
    asked: list[Write] = list(request.writes)
    return list(dict.fromkeys(paths.relative(writes.target(write)) for write in asked))


def _several(names: Any) -> list[str]:
    return [paths.relative(name) for name in names]


def _queried(parent: str, query: wire.StructuredQuery) -> str:
    return _joined(parent, query.from_[0].collection_id if query.from_ else "")


def _joined(parent: str, collection_id: str) -> str:
    return "/".join(filter(None, [paths.relative(parent), collection_id]))


def _read(content: bytes) -> ListenRequest:
    """Not left to grpc: it ends the stream beside us, who end it, too, and a call that is ended twice is never over."""
    try:
        return ListenRequest.FromString(content)
    except DecodeError as unreadable:
        raise invalid("The message cannot be read.") from unreadable


def _listened(request: ListenRequest) -> list[str]:
    target = request.add_target
    if target.WhichOneof("target_type") == "query":
        return [_queried(target.query.parent, target.query.structured_query)]
    return _several(target.documents.documents)
