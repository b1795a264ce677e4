"""The messages of google.firestore.v1 as they travel: raw protobuf, borrowed from the client library.

The library wraps each message in proto-plus, which is kind to people and five times slower; a server that reads
every field of every document works on what is inside. The raw classes are made at import, so no type checker can see
them: `wire.pyi` says what they are.
"""

from google.cloud.firestore_v1.types import aggregation_result, common, document, firestore, query, write
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from google.type.latlng_pb2 import LatLng

__all__ = ["LatLng", "RetryInfo", "Status"]

Value = document.Value.pb()
ArrayValue = document.ArrayValue.pb()
MapValue = document.MapValue.pb()
Document = document.Document.pb()

DocumentMask = common.DocumentMask.pb()
Precondition = common.Precondition.pb()
TransactionOptions = common.TransactionOptions.pb()

Write = write.Write.pb()
WriteResult = write.WriteResult.pb()
DocumentTransform = write.DocumentTransform.pb()
DocumentChange = write.DocumentChange.pb()
DocumentDelete = write.DocumentDelete.pb()
DocumentRemove = write.DocumentRemove.pb()

StructuredQuery = query.StructuredQuery.pb()
StructuredAggregationQuery = query.StructuredAggregationQuery.pb()
Cursor = query.Cursor.pb()
AggregationResult = aggregation_result.AggregationResult.pb()

GetDocumentRequest = firestore.GetDocumentRequest.pb()
ListDocumentsRequest = firestore.ListDocumentsRequest.pb()
ListDocumentsResponse = firestore.ListDocumentsResponse.pb()
CreateDocumentRequest = firestore.CreateDocumentRequest.pb()
UpdateDocumentRequest = firestore.UpdateDocumentRequest.pb()
DeleteDocumentRequest = firestore.DeleteDocumentRequest.pb()
BatchGetDocumentsRequest = firestore.BatchGetDocumentsRequest.pb()
BatchGetDocumentsResponse = firestore.BatchGetDocumentsResponse.pb()
BeginTransactionRequest = firestore.BeginTransactionRequest.pb()
BeginTransactionResponse = firestore.BeginTransactionResponse.pb()
CommitRequest = firestore.CommitRequest.pb()
CommitResponse = firestore.CommitResponse.pb()
RollbackRequest = firestore.RollbackRequest.pb()
BatchWriteRequest = firestore.BatchWriteRequest.pb()
BatchWriteResponse = firestore.BatchWriteResponse.pb()
RunQueryRequest = firestore.RunQueryRequest.pb()
RunQueryResponse = firestore.RunQueryResponse.pb()
RunAggregationQueryRequest = firestore.RunAggregationQueryRequest.pb()
RunAggregationQueryResponse = firestore.RunAggregationQueryResponse.pb()
ListCollectionIdsRequest = firestore.ListCollectionIdsRequest.pb()
ListCollectionIdsResponse = firestore.ListCollectionIdsResponse.pb()
ListenRequest = firestore.ListenRequest.pb()
ListenResponse = firestore.ListenResponse.pb()
Target = firestore.Target.pb()
TargetChange = firestore.TargetChange.pb()
