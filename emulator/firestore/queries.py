"""A query, compiled once and run on the documents of any moment.

Results are sorted by what the query asks for, then by the fields of its inequalities, then by name, so the order is
always total and a cursor always means one place in it. A document that lacks a field of that order is not in it.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import partial
from typing import Final

from emulator.firestore import filters, paths, values
from emulator.firestore.documents import Documents
from emulator.firestore.errors import invalid, missing
from emulator.firestore.filters import Predicate
from emulator.firestore.paths import FieldPath
from emulator.firestore.values import Key
from emulator.firestore.wire import Cursor, Document, StructuredQuery, Value

DESCENDING: Final = StructuredQuery.DESCENDING


@dataclass(frozen=True, slots=True)
class Order:
    """One step of the sort order."""

    path: FieldPath
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A place between documents: before or after all that have these values in front of their sort key."""

    keys: tuple[Key, ...]
    before: bool

    def precedes(self, position: "list[tuple[Key, bool]]") -> bool:
        """Whether a document with this position in the order comes after the edge."""
        for own, (key, descending) in zip(self.keys, position, strict=False):
            if key != own:
                return (key < own) == descending
        return self.before


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, where, and how to present it."""

    parent: str
    collection_id: str  # empty: of whatever name
    all_descendants: bool
    accepts: Predicate
    orders: tuple[Order, ...]
    start: Edge | None
    end: Edge | None
    offset: int
    limit: int | None
    fields: tuple[FieldPath, ...] | None

    def run(self, documents: Documents) -> list[Document]:
        """The results, in order, whole."""
        found = [document for document in self._candidates(documents) if self.matches(document)]
        for order in reversed(self.orders):
            found.sort(key=partial(_sort_key, order.path), reverse=order.descending)
        stop = None if self.limit is None else self.offset + self.limit
        return found[self.offset : stop]

    def matches(self, document: Document) -> bool:
        """Whether the document is a result, limits aside."""
        return self._selects(paths.collection_of(document.name)) and self.accepts(document) and self._between(document)

    def present(self, document: Document) -> Document:
        """The document as the query wants to see it."""
        return document if self.fields is None else values.project(document, self.fields)

    @property
    def is_window(self) -> bool:
        """Whether a change of one document can move another one in or out."""
        return self.limit is not None or self.offset > 0

    def _selects(self, collection: str) -> bool:
        if self.collection_id and paths.last(collection) != self.collection_id:
            return False
        if self.all_descendants:
            return collection.startswith(self.parent + "/")
        return paths.parent_of(collection) == self.parent

    def _candidates(self, documents: Documents) -> Iterable[Document]:
        if self.collection_id and not self.all_descendants:
            yield from documents.in_collection(f"{self.parent}/{self.collection_id}")
            return
        for collection in documents.collections_below(self.parent):
            if self._selects(collection):
                yield from documents.in_collection(collection)

    def _between(self, document: Document) -> bool:
        held = [values.field(document, order.path) for order in self.orders]
        if any(value is None for value in held):
            return False
        if not self.start and not self.end:
            return True
        position = [
            (values.key(value), order.descending)
            for value, order in zip(held, self.orders, strict=True)
            if value is not None
        ]
        after_start = self.start is None or self.start.precedes(position)
        after_end = self.end is not None and self.end.precedes(position)
        return after_start and not after_end


def compiled(parent: str, query: StructuredQuery, aggregated: Set[FieldPath] = frozenset()) -> Query:
    """Check a query as Firestore does, and make it ready to run. Fields to be added up take part in the order."""
    paths.check_parent(parent)
    if query.HasField("find_nearest"):
        raise missing("vector search (find_nearest)")
    if len(query.from_) > 1:
        raise invalid("StructuredQuery.from cannot have more than one collection selector.")
    if query.offset < 0:
        raise invalid("offset is negative")
    if query.limit.value < 0:
        raise invalid("limit is negative")
    filters.check(query.where)
    source = query.from_[0] if query.from_ else StructuredQuery.CollectionSelector()
    if source.collection_id:
        paths.check_id(source.collection_id, collection=True)
    return Query(
        parent=parent,
        collection_id=source.collection_id,
        all_descendants=source.all_descendants,
        accepts=filters.predicate(query.where),
        orders=_orders(query, filters.inequality_fields(query.where) | aggregated),
        start=_edge(query, "start_at"),
        end=_edge(query, "end_at"),
        offset=query.offset,
        limit=query.limit.value if query.HasField("limit") else None,
        fields=tuple(paths.parse_field(field.field_path) for field in query.select.fields)
        if query.HasField("select")
        else None,
    )


def _orders(query: StructuredQuery, implied: Set[FieldPath]) -> tuple[Order, ...]:
    orders: list[Order] = []
    for asked in query.order_by:
        path = paths.parse_field(asked.field.field_path)
        if any(order.path == path for order in orders):
            raise invalid(f"order by clause cannot contain duplicate fields {asked.field.field_path}")
        if orders and orders[-1].path == paths.NAME:
            raise invalid("order by clause cannot contain more fields after the key")
        orders.append(Order(path, asked.direction == DESCENDING))
    descending = bool(orders) and orders[-1].descending
    named = {order.path for order in orders}
    unnamed = [path for path in [*sorted(implied - {paths.NAME}), paths.NAME] if path not in named]
    return (*orders, *(Order(path, descending) for path in unnamed))


def _edge(query: StructuredQuery, side: str) -> Edge | None:
    if not query.HasField(side):
        return None
    cursor: Cursor = getattr(query, side)
    if len(cursor.values) > len(query.order_by):
        raise invalid("Cursor has too many values.")
    for value, order in zip(cursor.values, query.order_by, strict=False):
        is_name = paths.parse_field(order.field.field_path) == paths.NAME
        if is_name and values.type_of(value) != "reference_value":
            raise invalid("A cursor on __name__ must be a reference.")
    return Edge(tuple(values.key(value) for value in cursor.values), cursor.before)


def _sort_key(path: FieldPath, document: Document) -> Key:
    value: Value | None = values.field(document, path)
    return values.key(value) if value is not None else ()
