"""Calls of Firestore in a frame that is in order, with a message inside that is not: noise, or a good one spoiled.

Bytes alone hardly get so far: a port turns them down before anybody reads a message.
"""

from __future__ import annotations

from typing import Any, Final

import grpc

from emulator.firestore import wire
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.twin import DOCUMENTS, encoded

made: Final[Any] = wire  # its types know no maps in the place of messages
PREFIX: Final = "/google.firestore.v1.Firestore/"
_DATABASE: Final = DOCUMENTS.removesuffix("/documents")
_NAME: Final = f"{DOCUMENTS}/noise/one"
_DOCUMENT: Final = encoded(_NAME, {"a": [1, "x", {"b": None}], "c": 1.5})
_QUERY: Final[Any] = {
    "from_": [{"collection_id": "noise"}],
    "where": {"field_filter": {"field": {"field_path": "a.b"}, "op": 5, "value": {"integer_value": 7}}},
    "order_by": [{"field": {"field_path": "`a b`"}, "direction": 1}],
    "limit": {"value": 3},
}
_WRITES: Final[Any] = [
    {"update": _DOCUMENT, "update_mask": {"field_paths": ["a", "c"]}, "current_document": {"exists": False}},
    {"delete": _NAME},
    {"transform": {"document": _NAME, "field_transforms": [{"field_path": "c", "increment": {"integer_value": 1}}]}},
]
GOOD: Final[dict[str, Any]] = {
    "Commit": made.CommitRequest(database=_DATABASE, writes=_WRITES),
    "BatchWrite": made.BatchWriteRequest(database=_DATABASE, writes=_WRITES),
    "GetDocument": made.GetDocumentRequest(name=_NAME, mask={"field_paths": ["a"]}),
    "BatchGetDocuments": made.BatchGetDocumentsRequest(database=_DATABASE, documents=[_NAME, f"{_NAME}-two"]),
    "ListDocuments": made.ListDocumentsRequest(parent=DOCUMENTS, collection_id="noise", page_size=2, order_by="a"),
    "CreateDocument": made.CreateDocumentRequest(parent=DOCUMENTS, collection_id="noise", document=_DOCUMENT),
    "UpdateDocument": made.UpdateDocumentRequest(document=_DOCUMENT, update_mask={"field_paths": ["a"]}),
    "DeleteDocument": made.DeleteDocumentRequest(name=_NAME, current_document={"exists": True}),
    "RunQuery": made.RunQueryRequest(parent=DOCUMENTS, structured_query=_QUERY),
    "ListCollectionIds": made.ListCollectionIdsRequest(parent=DOCUMENTS, page_size=1, page_token="x"),
    "Rollback": made.RollbackRequest(database=_DATABASE, transaction=b"x"),
    "BeginTransaction": made.BeginTransactionRequest(database=_DATABASE),
    "Listen": made.ListenRequest(database=_DATABASE, add_target={"documents": {"documents": [_NAME]}, "target_id": 1}),
    "Nobody": made.RollbackRequest(database=_DATABASE),
}


def message(hostile: Hostile) -> tuple[str, bytes]:
    """The name of a call, and what is sent with it."""
    name = hostile.one(sorted(GOOD))
    good: bytes = GOOD[name].SerializeToString(deterministic=True)
    match hostile.chance.randrange(8):
        case 0:
            return name, hostile.chance.randbytes(hostile.chance.randrange(300))
        case 1:
            return name, good[: hostile.chance.randrange(len(good) + 1)]
        case 2:
            return name, GOOD[hostile.one(sorted(GOOD))].SerializeToString(deterministic=True)
        case 3:
            return name, hostile.noisy(good)
        case _:
            word, others = hostile.one(_WORDS)
            return name, good.replace(word, hostile.one(others))


# Of the same length: so the message can be read, and says something else.
_WORDS: Final = (
    (b"noise", (b"__x__", b"a/b/c", b"/////", b"`a`.b", b"\x00" * 5, b".....", "é名".encode(), b"\xff" * 5)),
    (b"documents", (b"document/", b"../../../", b"\x00" * 9, b"DOCUMENTS")),
    (b"(default)", (b"(another)", b"/////////", b"\x00" * 9)),
)


def answered(channel: grpc.Channel, name: str, content: bytes, within: float) -> grpc.StatusCode:
    """How the call ended; who was not there is an OSError, and an answer that nobody foresaw an AssertionError."""
    call: Any = channel.unary_stream(PREFIX + name)(content, timeout=within)  # type: ignore[arg-type]  # as it is
    try:
        for _ in call:
            pass
    except grpc.RpcError:
        code: grpc.StatusCode = call.code()
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            raise ConnectionError(f"{code.name}: {call.details()}") from None
        if code is grpc.StatusCode.UNKNOWN:
            raise AssertionError(call.details()) from None
        return code
    return grpc.StatusCode.OK
