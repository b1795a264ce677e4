"""Which documents a query is about: its `where`, made into one function of a document.

A filter that names a field is false for documents that lack it. Range filters compare values of one kind only: numbers
with numbers, strings with strings. The rules about which filters may stand together are Firestore's, so that a query
that works here also works there.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Final

from emulator.firestore import paths, values
from emulator.firestore.errors import invalid
from emulator.firestore.paths import FieldPath
from emulator.firestore.values import Key
from emulator.firestore.wire import Document, StructuredQuery, Value

Filter = StructuredQuery.Filter
FieldFilter = StructuredQuery.FieldFilter
UnaryFilter = StructuredQuery.UnaryFilter
CompositeFilter = StructuredQuery.CompositeFilter

Predicate = Callable[[Document], bool]
Test = Callable[[Value], bool]

MOST_VALUES: Final = {
    FieldFilter.IN: ("IN", 30),
    FieldFilter.ARRAY_CONTAINS_ANY: ("ARRAY_CONTAINS_ANY", 30),
    FieldFilter.NOT_IN: ("NOT_IN", 10),
}
RANGES: Final[dict[int, Callable[[Key, Key], bool]]] = {
    FieldFilter.LESS_THAN: operator.lt,
    FieldFilter.LESS_THAN_OR_EQUAL: operator.le,
    FieldFilter.GREATER_THAN: operator.gt,
    FieldFilter.GREATER_THAN_OR_EQUAL: operator.ge,
}
INEQUALITIES: Final = {*RANGES, FieldFilter.NOT_EQUAL, FieldFilter.NOT_IN}
NEGATIONS: Final = {UnaryFilter.IS_NOT_NAN, UnaryFilter.IS_NOT_NULL}


def predicate(where: Filter) -> Predicate:
    """Whether a document passes."""
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            parts = [predicate(part) for part in where.composite_filter.filters]
            if where.composite_filter.op == CompositeFilter.OR:
                return lambda document: any(part(document) for part in parts)
            return lambda document: all(part(document) for part in parts)
        case "field_filter":
            return _on_field(_path(where.field_filter.field), _field_test(where.field_filter))
        case "unary_filter":
            return _on_field(_path(where.unary_filter.field), _unary_test(where.unary_filter))
        case _:
            return lambda _: True


def inequality_fields(where: Filter) -> set[FieldPath]:
    """The fields that results are sorted by, whether or not the query says so."""
    return {_path(part.field) for part in _leaves(where) if _is_inequality(part)}


def check(where: Filter) -> None:
    """Refuse combinations that Firestore refuses."""
    leaves = list(_leaves(where))
    for part in leaves:
        if isinstance(part, FieldFilter):
            _check_operand(part)
    operators = [part.op for part in leaves if isinstance(part, FieldFilter)]
    negations = [part for part in leaves if _is_negation(part)]
    if len(negations) > 1:
        raise invalid("Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
    disjunctive = FieldFilter.IN in operators or FieldFilter.ARRAY_CONTAINS_ANY in operators or _has_or(where)
    if FieldFilter.NOT_IN in operators and disjunctive:
        raise invalid("'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")
    if _most_array_filters(where) > 1:
        raise invalid("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")


# --- tests on one value --------------------------------------------------------------------------------------


def _on_field(path: FieldPath, test: Test) -> Predicate:
    def passes(document: Document) -> bool:
        value = values.field(document, path)
        return value is not None and test(value)

    return passes


def _field_test(part: FieldFilter) -> Test:
    operands = _operands(part)
    sought = {values.key(operand) for operand in operands if not _is_unknown(operand)}
    match part.op:
        case FieldFilter.EQUAL | FieldFilter.IN:
            return lambda value: values.key(value) in sought
        case FieldFilter.NOT_EQUAL | FieldFilter.NOT_IN:
            if any(map(_is_null, operands)):  # what is null might be anything, so nothing surely differs from it
                return lambda _: False
            return lambda value: not _is_null(value) and values.key(value) not in sought
        case FieldFilter.ARRAY_CONTAINS | FieldFilter.ARRAY_CONTAINS_ANY:
            return lambda value: any(values.key(element) in sought for element in value.array_value.values)
        case ranged:
            return _range_test(RANGES[ranged], part.value)


def _range_test(compare: Callable[[Key, Key], bool], operand: Value) -> Test:
    if _is_unknown(operand):
        return lambda _: False
    kind, key = values.kind(operand), values.key(operand)
    return lambda value: values.kind(value) == kind and not values.is_nan(value) and compare(values.key(value), key)


def _operands(part: FieldFilter) -> list[Value]:
    return list(part.value.array_value.values) if part.op in MOST_VALUES else [part.value]


def _is_unknown(operand: Value) -> bool:
    """Null and NaN equal nothing, not even themselves; only the unary filters find them."""
    return _is_null(operand) or values.is_nan(operand)


def _unary_test(part: UnaryFilter) -> Test:
    match part.op:
        case UnaryFilter.IS_NAN:
            return values.is_nan
        case UnaryFilter.IS_NOT_NAN:
            return lambda value: not values.is_nan(value) and not _is_null(value)
        case UnaryFilter.IS_NULL:
            return _is_null
        case UnaryFilter.IS_NOT_NULL:
            return lambda value: not _is_null(value)
        case _:
            raise invalid("A unary filter must have an operator.")


def _is_null(value: Value) -> bool:
    return values.type_of(value) == "null_value"


# --- rules ---------------------------------------------------------------------------------------------------


def _path(reference: StructuredQuery.FieldReference) -> FieldPath:
    return paths.parse_field(reference.field_path)


def _leaves(where: Filter) -> Iterator[FieldFilter | UnaryFilter]:
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            for part in where.composite_filter.filters:
                yield from _leaves(part)
        case "field_filter":
            yield where.field_filter
        case "unary_filter":
            yield where.unary_filter


def _is_inequality(part: FieldFilter | UnaryFilter) -> bool:
    return part.op in (INEQUALITIES if isinstance(part, FieldFilter) else NEGATIONS)


def _is_negation(part: FieldFilter | UnaryFilter) -> bool:
    if isinstance(part, FieldFilter):
        return part.op in {FieldFilter.NOT_EQUAL, FieldFilter.NOT_IN}
    return part.op in NEGATIONS


def _has_or(where: Filter) -> bool:
    composite = where.composite_filter
    several = composite.op == CompositeFilter.OR and len(composite.filters) > 1
    return several or any(_has_or(part) for part in composite.filters)


def _most_array_filters(where: Filter) -> int:
    """How many array filters a document may have to pass at once."""
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            counts = [_most_array_filters(part) for part in where.composite_filter.filters]
            return max(counts, default=0) if where.composite_filter.op == CompositeFilter.OR else sum(counts)
        case "field_filter":
            return int(where.field_filter.op in {FieldFilter.ARRAY_CONTAINS, FieldFilter.ARRAY_CONTAINS_ANY})
        case _:
            return 0


def _check_operand(part: FieldFilter) -> None:
    if part.op == FieldFilter.OPERATOR_UNSPECIFIED:
        raise invalid("A field filter must have an operator.")
    if part.op in MOST_VALUES:
        name, most = MOST_VALUES[part.op]
        if values.type_of(part.value) != "array_value":
            raise invalid(f"'{name}' requires an ArrayValue.")
        if not part.value.array_value.values:
            raise invalid(f"'{name}' requires an non-empty ArrayValue.")
        if len(part.value.array_value.values) > most:
            raise invalid(f"'{name}' supports up to {most} comparison values.")
    all_names = all(values.type_of(operand) == "reference_value" for operand in _operands(part))
    if _path(part.field) == paths.NAME and not all_names:
        raise invalid("__key__ filter value must be a Key")
