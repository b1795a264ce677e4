"""What `wire.py` holds. Made by `python -m tests.emulator.firestore.stub`; not for editing."""

# ruff: noqa: A002 - fields are named by Google

from collections.abc import Iterable, Mapping

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.wrappers_pb2 import DoubleValue, Int32Value, Int64Value

class RetryInfo(Message):
    retry_delay: Duration
    def __init__(self, *, retry_delay: Duration | None = ...) -> None: ...

class Status(Message):
    code: int
    message: str
    details: RepeatedCompositeFieldContainer[AnyMessage]
    def __init__(
        self, *, code: int | None = ..., message: str | None = ..., details: Iterable[AnyMessage] = ...
    ) -> None: ...

class LatLng(Message):
    latitude: float
    longitude: float
    def __init__(self, *, latitude: float | None = ..., longitude: float | None = ...) -> None: ...

class Value(Message):
    null_value: int
    boolean_value: bool
    integer_value: int
    double_value: float
    timestamp_value: Timestamp
    string_value: str
    bytes_value: bytes
    reference_value: str
    geo_point_value: LatLng
    array_value: ArrayValue
    map_value: MapValue
    field_reference_value: str
    variable_reference_value: str
    function_value: Message
    pipeline_value: Message
    def __init__(
        self,
        *,
        null_value: int | None = ...,
        boolean_value: bool | None = ...,
        integer_value: int | None = ...,
        double_value: float | None = ...,
        timestamp_value: Timestamp | None = ...,
        string_value: str | None = ...,
        bytes_value: bytes | None = ...,
        reference_value: str | None = ...,
        geo_point_value: LatLng | None = ...,
        array_value: ArrayValue | None = ...,
        map_value: MapValue | None = ...,
        field_reference_value: str | None = ...,
        variable_reference_value: str | None = ...,
        function_value: Message | None = ...,
        pipeline_value: Message | None = ...,
    ) -> None: ...

class ArrayValue(Message):
    values: RepeatedCompositeFieldContainer[Value]
    def __init__(self, *, values: Iterable[Value] = ...) -> None: ...

class MapValue(Message):
    fields: MessageMap[str, Value]
    def __init__(self, *, fields: Mapping[str, Value] = ...) -> None: ...

class Document(Message):
    name: str
    fields: MessageMap[str, Value]
    create_time: Timestamp
    update_time: Timestamp
    def __init__(
        self,
        *,
        name: str | None = ...,
        fields: Mapping[str, Value] = ...,
        create_time: Timestamp | None = ...,
        update_time: Timestamp | None = ...,
    ) -> None: ...

class DocumentMask(Message):
    field_paths: RepeatedScalarFieldContainer[str]
    def __init__(self, *, field_paths: Iterable[str] = ...) -> None: ...

class Precondition(Message):
    exists: bool
    update_time: Timestamp
    def __init__(self, *, exists: bool | None = ..., update_time: Timestamp | None = ...) -> None: ...

class TransactionOptions(Message):
    CONCURRENCY_MODE_UNSPECIFIED: int
    OPTIMISTIC: int
    PESSIMISTIC: int
    class ReadWrite(Message):
        retry_transaction: bytes
        concurrency_mode: int
        def __init__(self, *, retry_transaction: bytes | None = ..., concurrency_mode: int | None = ...) -> None: ...

    class ReadOnly(Message):
        read_time: Timestamp
        def __init__(self, *, read_time: Timestamp | None = ...) -> None: ...

    read_only: TransactionOptions.ReadOnly
    read_write: TransactionOptions.ReadWrite
    def __init__(
        self,
        *,
        read_only: TransactionOptions.ReadOnly | None = ...,
        read_write: TransactionOptions.ReadWrite | None = ...,
    ) -> None: ...

class Write(Message):
    update: Document
    delete: str
    transform: DocumentTransform
    update_mask: DocumentMask
    update_transforms: RepeatedCompositeFieldContainer[DocumentTransform.FieldTransform]
    current_document: Precondition
    def __init__(
        self,
        *,
        update: Document | None = ...,
        delete: str | None = ...,
        transform: DocumentTransform | None = ...,
        update_mask: DocumentMask | None = ...,
        update_transforms: Iterable[DocumentTransform.FieldTransform] = ...,
        current_document: Precondition | None = ...,
    ) -> None: ...

class WriteResult(Message):
    update_time: Timestamp
    transform_results: RepeatedCompositeFieldContainer[Value]
    def __init__(self, *, update_time: Timestamp | None = ..., transform_results: Iterable[Value] = ...) -> None: ...

class DocumentTransform(Message):
    class FieldTransform(Message):
        SERVER_VALUE_UNSPECIFIED: int
        REQUEST_TIME: int
        field_path: str
        set_to_server_value: int
        increment: Value
        maximum: Value
        minimum: Value
        append_missing_elements: ArrayValue
        remove_all_from_array: ArrayValue
        def __init__(
            self,
            *,
            field_path: str | None = ...,
            set_to_server_value: int | None = ...,
            increment: Value | None = ...,
            maximum: Value | None = ...,
            minimum: Value | None = ...,
            append_missing_elements: ArrayValue | None = ...,
            remove_all_from_array: ArrayValue | None = ...,
        ) -> None: ...

    document: str
    field_transforms: RepeatedCompositeFieldContainer[DocumentTransform.FieldTransform]
    def __init__(
        self, *, document: str | None = ..., field_transforms: Iterable[DocumentTransform.FieldTransform] = ...
    ) -> None: ...

class DocumentChange(Message):
    document: Document
    target_ids: RepeatedScalarFieldContainer[int]
    removed_target_ids: RepeatedScalarFieldContainer[int]
    def __init__(
        self,
        *,
        document: Document | None = ...,
        target_ids: Iterable[int] = ...,
        removed_target_ids: Iterable[int] = ...,
    ) -> None: ...

class DocumentDelete(Message):
    document: str
    removed_target_ids: RepeatedScalarFieldContainer[int]
    read_time: Timestamp
    def __init__(
        self, *, document: str | None = ..., removed_target_ids: Iterable[int] = ..., read_time: Timestamp | None = ...
    ) -> None: ...

class DocumentRemove(Message):
    document: str
    removed_target_ids: RepeatedScalarFieldContainer[int]
    read_time: Timestamp
    def __init__(
        self, *, document: str | None = ..., removed_target_ids: Iterable[int] = ..., read_time: Timestamp | None = ...
    ) -> None: ...

class StructuredQuery(Message):
    DIRECTION_UNSPECIFIED: int
    ASCENDING: int
    DESCENDING: int
    class CollectionSelector(Message):
        collection_id: str
        all_descendants: bool
        def __init__(self, *, collection_id: str | None = ..., all_descendants: bool | None = ...) -> None: ...

    class Filter(Message):
        composite_filter: StructuredQuery.CompositeFilter
        field_filter: StructuredQuery.FieldFilter
        unary_filter: StructuredQuery.UnaryFilter
        def __init__(
            self,
            *,
            composite_filter: StructuredQuery.CompositeFilter | None = ...,
            field_filter: StructuredQuery.FieldFilter | None = ...,
            unary_filter: StructuredQuery.UnaryFilter | None = ...,
        ) -> None: ...

    class CompositeFilter(Message):
        OPERATOR_UNSPECIFIED: int
        AND: int
        OR: int
        op: int
        filters: RepeatedCompositeFieldContainer[StructuredQuery.Filter]
        def __init__(self, *, op: int | None = ..., filters: Iterable[StructuredQuery.Filter] = ...) -> None: ...

    class FieldFilter(Message):
        OPERATOR_UNSPECIFIED: int
        LESS_THAN: int
        LESS_THAN_OR_EQUAL: int
        GREATER_THAN: int
        GREATER_THAN_OR_EQUAL: int
        EQUAL: int
        NOT_EQUAL: int
        ARRAY_CONTAINS: int
        IN: int
        ARRAY_CONTAINS_ANY: int
        NOT_IN: int
        field: StructuredQuery.FieldReference
        op: int
        value: Value
        def __init__(
            self, *, field: StructuredQuery.FieldReference | None = ..., op: int | None = ..., value: Value | None = ...
        ) -> None: ...

    class UnaryFilter(Message):
        OPERATOR_UNSPECIFIED: int
        IS_NAN: int
        IS_NULL: int
        IS_NOT_NAN: int
        IS_NOT_NULL: int
        op: int
        field: StructuredQuery.FieldReference
        def __init__(self, *, op: int | None = ..., field: StructuredQuery.FieldReference | None = ...) -> None: ...

    class Order(Message):
        field: StructuredQuery.FieldReference
        direction: int
        def __init__(
            self, *, field: StructuredQuery.FieldReference | None = ..., direction: int | None = ...
        ) -> None: ...

    class FieldReference(Message):
        field_path: str
        def __init__(self, *, field_path: str | None = ...) -> None: ...

    class Projection(Message):
        fields: RepeatedCompositeFieldContainer[StructuredQuery.FieldReference]
        def __init__(self, *, fields: Iterable[StructuredQuery.FieldReference] = ...) -> None: ...

    class FindNearest(Message):
        DISTANCE_MEASURE_UNSPECIFIED: int
        EUCLIDEAN: int
        COSINE: int
        DOT_PRODUCT: int
        vector_field: StructuredQuery.FieldReference
        query_vector: Value
        distance_measure: int
        limit: Int32Value
        distance_result_field: str
        distance_threshold: DoubleValue
        def __init__(
            self,
            *,
            vector_field: StructuredQuery.FieldReference | None = ...,
            query_vector: Value | None = ...,
            distance_measure: int | None = ...,
            limit: Int32Value | None = ...,
            distance_result_field: str | None = ...,
            distance_threshold: DoubleValue | None = ...,
        ) -> None: ...

    select: StructuredQuery.Projection
    from_: RepeatedCompositeFieldContainer[StructuredQuery.CollectionSelector]
    where: StructuredQuery.Filter
    order_by: RepeatedCompositeFieldContainer[StructuredQuery.Order]
    start_at: Cursor
    end_at: Cursor
    offset: int
    limit: Int32Value
    find_nearest: StructuredQuery.FindNearest
    def __init__(
        self,
        *,
        select: StructuredQuery.Projection | None = ...,
        from_: Iterable[StructuredQuery.CollectionSelector] = ...,
        where: StructuredQuery.Filter | None = ...,
        order_by: Iterable[StructuredQuery.Order] = ...,
        start_at: Cursor | None = ...,
        end_at: Cursor | None = ...,
        offset: int | None = ...,
        limit: Int32Value | None = ...,
        find_nearest: StructuredQuery.FindNearest | None = ...,
    ) -> None: ...

class StructuredAggregationQuery(Message):
    class Aggregation(Message):
        class Count(Message):
            up_to: Int64Value
            def __init__(self, *, up_to: Int64Value | None = ...) -> None: ...

        class Sum(Message):
            field: StructuredQuery.FieldReference
            def __init__(self, *, field: StructuredQuery.FieldReference | None = ...) -> None: ...

        class Avg(Message):
            field: StructuredQuery.FieldReference
            def __init__(self, *, field: StructuredQuery.FieldReference | None = ...) -> None: ...

        count: StructuredAggregationQuery.Aggregation.Count
        sum: StructuredAggregationQuery.Aggregation.Sum
        avg: StructuredAggregationQuery.Aggregation.Avg
        alias: str
        def __init__(
            self,
            *,
            count: StructuredAggregationQuery.Aggregation.Count | None = ...,
            sum: StructuredAggregationQuery.Aggregation.Sum | None = ...,
            avg: StructuredAggregationQuery.Aggregation.Avg | None = ...,
            alias: str | None = ...,
        ) -> None: ...

    structured_query: StructuredQuery
    aggregations: RepeatedCompositeFieldContainer[StructuredAggregationQuery.Aggregation]
    def __init__(
        self,
        *,
        structured_query: StructuredQuery | None = ...,
        aggregations: Iterable[StructuredAggregationQuery.Aggregation] = ...,
    ) -> None: ...

class Cursor(Message):
    values: RepeatedCompositeFieldContainer[Value]
    before: bool
    def __init__(self, *, values: Iterable[Value] = ..., before: bool | None = ...) -> None: ...

class AggregationResult(Message):
    aggregate_fields: MessageMap[str, Value]
    def __init__(self, *, aggregate_fields: Mapping[str, Value] = ...) -> None: ...

class GetDocumentRequest(Message):
    name: str
    mask: DocumentMask
    transaction: bytes
    read_time: Timestamp
    request_options: Message
    def __init__(
        self,
        *,
        name: str | None = ...,
        mask: DocumentMask | None = ...,
        transaction: bytes | None = ...,
        read_time: Timestamp | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class ListDocumentsRequest(Message):
    parent: str
    collection_id: str
    page_size: int
    page_token: str
    order_by: str
    mask: DocumentMask
    transaction: bytes
    read_time: Timestamp
    show_missing: bool
    request_options: Message
    def __init__(
        self,
        *,
        parent: str | None = ...,
        collection_id: str | None = ...,
        page_size: int | None = ...,
        page_token: str | None = ...,
        order_by: str | None = ...,
        mask: DocumentMask | None = ...,
        transaction: bytes | None = ...,
        read_time: Timestamp | None = ...,
        show_missing: bool | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class ListDocumentsResponse(Message):
    documents: RepeatedCompositeFieldContainer[Document]
    next_page_token: str
    def __init__(self, *, documents: Iterable[Document] = ..., next_page_token: str | None = ...) -> None: ...

class CreateDocumentRequest(Message):
    parent: str
    collection_id: str
    document_id: str
    document: Document
    mask: DocumentMask
    request_options: Message
    def __init__(
        self,
        *,
        parent: str | None = ...,
        collection_id: str | None = ...,
        document_id: str | None = ...,
        document: Document | None = ...,
        mask: DocumentMask | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class UpdateDocumentRequest(Message):
    document: Document
    update_mask: DocumentMask
    mask: DocumentMask
    current_document: Precondition
    request_options: Message
    def __init__(
        self,
        *,
        document: Document | None = ...,
        update_mask: DocumentMask | None = ...,
        mask: DocumentMask | None = ...,
        current_document: Precondition | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class DeleteDocumentRequest(Message):
    name: str
    current_document: Precondition
    request_options: Message
    def __init__(
        self,
        *,
        name: str | None = ...,
        current_document: Precondition | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class BatchGetDocumentsRequest(Message):
    database: str
    documents: RepeatedScalarFieldContainer[str]
    mask: DocumentMask
    transaction: bytes
    new_transaction: TransactionOptions
    read_time: Timestamp
    request_options: Message
    def __init__(
        self,
        *,
        database: str | None = ...,
        documents: Iterable[str] = ...,
        mask: DocumentMask | None = ...,
        transaction: bytes | None = ...,
        new_transaction: TransactionOptions | None = ...,
        read_time: Timestamp | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class BatchGetDocumentsResponse(Message):
    found: Document
    missing: str
    transaction: bytes
    read_time: Timestamp
    def __init__(
        self,
        *,
        found: Document | None = ...,
        missing: str | None = ...,
        transaction: bytes | None = ...,
        read_time: Timestamp | None = ...,
    ) -> None: ...

class BeginTransactionRequest(Message):
    database: str
    options: TransactionOptions
    request_options: Message
    def __init__(
        self,
        *,
        database: str | None = ...,
        options: TransactionOptions | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class BeginTransactionResponse(Message):
    transaction: bytes
    def __init__(self, *, transaction: bytes | None = ...) -> None: ...

class CommitRequest(Message):
    database: str
    writes: RepeatedCompositeFieldContainer[Write]
    transaction: bytes
    request_options: Message
    def __init__(
        self,
        *,
        database: str | None = ...,
        writes: Iterable[Write] = ...,
        transaction: bytes | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class CommitResponse(Message):
    write_results: RepeatedCompositeFieldContainer[WriteResult]
    commit_time: Timestamp
    def __init__(self, *, write_results: Iterable[WriteResult] = ..., commit_time: Timestamp | None = ...) -> None: ...

class RollbackRequest(Message):
    database: str
    transaction: bytes
    request_options: Message
    def __init__(
        self, *, database: str | None = ..., transaction: bytes | None = ..., request_options: Message | None = ...
    ) -> None: ...

class BatchWriteRequest(Message):
    database: str
    writes: RepeatedCompositeFieldContainer[Write]
    labels: ScalarMap[str, str]
    request_options: Message
    def __init__(
        self,
        *,
        database: str | None = ...,
        writes: Iterable[Write] = ...,
        labels: Mapping[str, str] = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class BatchWriteResponse(Message):
    write_results: RepeatedCompositeFieldContainer[WriteResult]
    status: RepeatedCompositeFieldContainer[Status]
    def __init__(self, *, write_results: Iterable[WriteResult] = ..., status: Iterable[Status] = ...) -> None: ...

class RunQueryRequest(Message):
    parent: str
    structured_query: StructuredQuery
    transaction: bytes
    new_transaction: TransactionOptions
    read_time: Timestamp
    explain_options: Message
    request_options: Message
    def __init__(
        self,
        *,
        parent: str | None = ...,
        structured_query: StructuredQuery | None = ...,
        transaction: bytes | None = ...,
        new_transaction: TransactionOptions | None = ...,
        read_time: Timestamp | None = ...,
        explain_options: Message | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class RunQueryResponse(Message):
    transaction: bytes
    document: Document
    read_time: Timestamp
    skipped_results: int
    done: bool
    explain_metrics: Message
    def __init__(
        self,
        *,
        transaction: bytes | None = ...,
        document: Document | None = ...,
        read_time: Timestamp | None = ...,
        skipped_results: int | None = ...,
        done: bool | None = ...,
        explain_metrics: Message | None = ...,
    ) -> None: ...

class RunAggregationQueryRequest(Message):
    parent: str
    structured_aggregation_query: StructuredAggregationQuery
    transaction: bytes
    new_transaction: TransactionOptions
    read_time: Timestamp
    explain_options: Message
    request_options: Message
    def __init__(
        self,
        *,
        parent: str | None = ...,
        structured_aggregation_query: StructuredAggregationQuery | None = ...,
        transaction: bytes | None = ...,
        new_transaction: TransactionOptions | None = ...,
        read_time: Timestamp | None = ...,
        explain_options: Message | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class RunAggregationQueryResponse(Message):
    result: AggregationResult
    transaction: bytes
    read_time: Timestamp
    explain_metrics: Message
    def __init__(
        self,
        *,
        result: AggregationResult | None = ...,
        transaction: bytes | None = ...,
        read_time: Timestamp | None = ...,
        explain_metrics: Message | None = ...,
    ) -> None: ...

class ListCollectionIdsRequest(Message):
    parent: str
    page_size: int
    page_token: str
    read_time: Timestamp
    request_options: Message
    def __init__(
        self,
        *,
        parent: str | None = ...,
        page_size: int | None = ...,
        page_token: str | None = ...,
        read_time: Timestamp | None = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class ListCollectionIdsResponse(Message):
    collection_ids: RepeatedScalarFieldContainer[str]
    next_page_token: str
    def __init__(self, *, collection_ids: Iterable[str] = ..., next_page_token: str | None = ...) -> None: ...

class ListenRequest(Message):
    database: str
    add_target: Target
    remove_target: int
    labels: ScalarMap[str, str]
    request_options: Message
    def __init__(
        self,
        *,
        database: str | None = ...,
        add_target: Target | None = ...,
        remove_target: int | None = ...,
        labels: Mapping[str, str] = ...,
        request_options: Message | None = ...,
    ) -> None: ...

class ListenResponse(Message):
    target_change: TargetChange
    document_change: DocumentChange
    document_delete: DocumentDelete
    document_remove: DocumentRemove
    filter: Message
    def __init__(
        self,
        *,
        target_change: TargetChange | None = ...,
        document_change: DocumentChange | None = ...,
        document_delete: DocumentDelete | None = ...,
        document_remove: DocumentRemove | None = ...,
        filter: Message | None = ...,
    ) -> None: ...

class Target(Message):
    class DocumentsTarget(Message):
        documents: RepeatedScalarFieldContainer[str]
        def __init__(self, *, documents: Iterable[str] = ...) -> None: ...

    class QueryTarget(Message):
        parent: str
        structured_query: StructuredQuery
        def __init__(self, *, parent: str | None = ..., structured_query: StructuredQuery | None = ...) -> None: ...

    query: Target.QueryTarget
    documents: Target.DocumentsTarget
    resume_token: bytes
    read_time: Timestamp
    target_id: int
    once: bool
    expected_count: Int32Value
    def __init__(
        self,
        *,
        query: Target.QueryTarget | None = ...,
        documents: Target.DocumentsTarget | None = ...,
        resume_token: bytes | None = ...,
        read_time: Timestamp | None = ...,
        target_id: int | None = ...,
        once: bool | None = ...,
        expected_count: Int32Value | None = ...,
    ) -> None: ...

class TargetChange(Message):
    NO_CHANGE: int
    ADD: int
    REMOVE: int
    CURRENT: int
    RESET: int
    target_change_type: int
    target_ids: RepeatedScalarFieldContainer[int]
    cause: Status
    resume_token: bytes
    read_time: Timestamp
    def __init__(
        self,
        *,
        target_change_type: int | None = ...,
        target_ids: Iterable[int] = ...,
        cause: Status | None = ...,
        resume_token: bytes | None = ...,
        read_time: Timestamp | None = ...,
    ) -> None: ...
