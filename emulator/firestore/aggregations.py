"""Counting, adding up and averaging the results of a query."""

import math
from collections.abc import Iterable, Sequence

from emulator.firestore import paths, values
from emulator.firestore.errors import invalid
from emulator.firestore.paths import FieldPath
from emulator.firestore.wire import AggregationResult, Document, StructuredAggregationQuery, Value
from emulator.firestore.writes import LARGEST, SMALLEST

Aggregation = StructuredAggregationQuery.Aggregation


def check(aggregations: Sequence[Aggregation]) -> None:
    """Refuse what Firestore refuses."""
    if not aggregations:
        raise invalid("Aggregations can not be empty.")
    if len(aggregations) > 5:
        raise invalid("The maximum number of aggregations allowed in an aggregation query is 5.")
    aliases = [aggregation.alias for aggregation in aggregations if aggregation.alias]
    if len(aliases) != len(set(aliases)):
        raise invalid("Aggregation aliases contain duplicate alias.")


def fields(aggregations: Iterable[Aggregation]) -> set[FieldPath]:
    """The fields that are added up: the query is sorted by them, so documents that lack one do not count."""
    return {path for aggregation in aggregations if (path := _field(aggregation))}


def aggregate(aggregations: Sequence[Aggregation], documents: Iterable[Document]) -> AggregationResult:
    """One number for each aggregation."""
    counted = list(documents)
    results: dict[str, Value] = {}
    for aggregation in aggregations:
        unnamed = sum(name.startswith("field_") for name in results) + 1
        results[aggregation.alias or f"field_{unnamed}"] = _computed(aggregation, counted)
    return AggregationResult(aggregate_fields=results)


def _field(aggregation: Aggregation) -> FieldPath | None:
    match aggregation.WhichOneof("operator"):
        case "sum":
            return paths.parse_field(aggregation.sum.field.field_path)
        case "avg":
            return paths.parse_field(aggregation.avg.field.field_path)
        case _:
            return None


def _computed(aggregation: Aggregation, documents: list[Document]) -> Value:
    path = _field(aggregation)
    if path is None:
        most = aggregation.count.up_to.value if aggregation.count.HasField("up_to") else len(documents)
        return Value(integer_value=min(len(documents), most))
    found = (values.field(document, path) for document in documents)
    numbers = [values.number(value) for value in found if value is not None and values.is_number(value)]
    if aggregation.WhichOneof("operator") == "sum":
        return _total(numbers)
    return Value(double_value=_sum(numbers) / len(numbers)) if numbers else values.NULL


def _total(numbers: list[int | float]) -> Value:
    total = _sum(numbers)
    if isinstance(total, int) and SMALLEST <= total <= LARGEST:
        return Value(integer_value=total)
    return Value(double_value=float(total))


def _sum(numbers: list[int | float]) -> int | float:
    integers = sum(number for number in numbers if isinstance(number, int))
    doubles = [number for number in numbers if isinstance(number, float)]
    if not doubles:
        return integers
    if all(map(math.isfinite, doubles)):
        return math.fsum([*doubles, float(integers)])
    return sum(doubles)
