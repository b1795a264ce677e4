"""The calls that write, and those that begin and end transactions."""

import secrets
import string

from google.protobuf.empty_pb2 import Empty

from emulator.firestore import paths, values, writes
from emulator.firestore.errors import Refused, invalid
from emulator.firestore.reading import Reading
from emulator.firestore.store import Receipt
from emulator.firestore.transactions import Transactions
from emulator.firestore.wire import (
    BatchWriteRequest,
    BatchWriteResponse,
    BeginTransactionRequest,
    BeginTransactionResponse,
    CommitRequest,
    CommitResponse,
    CreateDocumentRequest,
    DeleteDocumentRequest,
    Document,
    DocumentMask,
    GetDocumentRequest,
    Precondition,
    RollbackRequest,
    Status,
    UpdateDocumentRequest,
    Write,
    WriteResult,
)

ID_ALPHABET = string.ascii_letters + string.digits


class Writing:
    """Each method answers one call."""

    def __init__(self, transactions: Transactions, reading: Reading) -> None:
        self._transactions = transactions
        self._reading = reading

    # --- several at once -------------------------------------------------------------------------------------

    def commit(self, request: CommitRequest) -> CommitResponse:
        database = paths.database_of(request.database)
        transaction = self._transactions.find(request.transaction, database) if request.transaction else None
        receipt = self._transactions.commit(database, request.writes, transaction)
        return CommitResponse(write_results=receipt.results, commit_time=values.timestamp(receipt.time))

    def batch_write(self, request: BatchWriteRequest) -> BatchWriteResponse:
        """Each write for itself: some may fail."""
        names = [writes.target(write) for write in request.writes]
        if len(names) != len(set(names)):
            raise invalid("the same document cannot be written more than once in a single request")
        response = BatchWriteResponse()
        for write in request.writes:
            try:
                [result] = self._write(write).results
            except Refused as refused:
                response.write_results.append(WriteResult())
                response.status.append(Status(code=refused.code, message=refused.message))
            else:
                response.write_results.append(result)
                response.status.append(Status())
        return response

    # --- one document ----------------------------------------------------------------------------------------

    def create_document(self, request: CreateDocumentRequest) -> Document:
        paths.check_id(request.collection_id, collection=True)
        identity = request.document_id or "".join(secrets.choice(ID_ALPHABET) for _ in range(20))
        name = f"{request.parent}/{request.collection_id}/{identity}"
        document = Document(name=name, fields=request.document.fields)
        self._write(Write(update=document, current_document=Precondition(exists=False)))
        return self._reading.get_document(GetDocumentRequest(name=name, mask=_mask_of(request)))

    def update_document(self, request: UpdateDocumentRequest) -> Document:
        write = Write(update=request.document)
        if request.HasField("update_mask"):
            write.update_mask.CopyFrom(request.update_mask)
        if request.HasField("current_document"):
            write.current_document.CopyFrom(request.current_document)
        self._write(write)
        return self._reading.get_document(GetDocumentRequest(name=request.document.name, mask=_mask_of(request)))

    def delete_document(self, request: DeleteDocumentRequest) -> Empty:
        self._write(Write(delete=request.name, current_document=request.current_document))
        return Empty()

    def _write(self, write: Write) -> Receipt:
        return self._transactions.commit(paths.database_of(writes.target(write)), [write], None)

    # --- transactions ----------------------------------------------------------------------------------------

    def begin_transaction(self, request: BeginTransactionRequest) -> BeginTransactionResponse:
        transaction = self._transactions.begin(paths.database_of(request.database), request.options)
        return BeginTransactionResponse(transaction=transaction.id)

    def rollback(self, request: RollbackRequest) -> Empty:
        self._transactions.rollback(request.transaction)
        return Empty()


def _mask_of(request: CreateDocumentRequest | UpdateDocumentRequest) -> DocumentMask | None:
    return request.mask if request.HasField("mask") else None
