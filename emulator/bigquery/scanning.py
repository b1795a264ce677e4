"""How many bytes a query is said to process: the bytes of the columns that it names, in the days that it asks for.

The real service bills whole columns of whole partitions, whatever LIMIT or the rest of WHERE say. So do we: the
columns that the query names anywhere (all of them for a `*`), in the rows of those days that survive the comparisons
of the partitioning column with constants; eight bytes for a number or a moment, one for a boolean, two and its length
in UTF-8 for a text, nothing for a missing text.
"""

from typing import Any, Final

from sqlglot import exp

from emulator.bigquery.dialect import Query, generated
from emulator.bigquery.schema import Field, quoted
from emulator.bigquery.tables import Table

MEGABYTE: Final = 1_048_576
LEAST_BILLED: Final = 10 * MEGABYTE
SIZES: Final = {
    "INTEGER": 8,
    "FLOAT": 8,
    "BOOLEAN": 1,
    "TIMESTAMP": 8,
    "DATETIME": 8,
    "DATE": 8,
    "TIME": 8,
    "NUMERIC": 16,
    "BIGNUMERIC": 32,
}
# A comparison with a moment leaves the whole day of that moment.
COARSE: Final[dict[type[exp.Expr], type[exp.Binary]]] = {
    exp.GT: exp.GTE,
    exp.GTE: exp.GTE,
    exp.LT: exp.LTE,
    exp.LTE: exp.LTE,
    exp.EQ: exp.EQ,
}
TURNED: Final[dict[type[exp.Binary], type[exp.Binary]]] = {exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ}


def billed(processed: int, tables: int) -> int:
    """Rounded up to megabytes, and never less than ten for each table."""
    return max(-(-processed // MEGABYTE) * MEGABYTE, tables * LEAST_BILLED)


def measure(table: Table, columns: tuple[Field, ...], days: str = "") -> str:
    """The question how large these columns are, for the engine."""
    whole = sum(SIZES[field.type] for field in columns if _fixed(field))
    texts = [f"coalesce(sum(2 + strlen({_text(field)})), 0)" for field in columns if not _fixed(field)]
    return f"SELECT {' + '.join([f'count(*) * {whole}', *texts])} FROM {table.sql}{days}"  # noqa: S608 - quoted names


def measures(query: Query) -> list[tuple[str, dict[str, Any]]]:
    """One question for each scan, with its values."""
    questions = []
    for node, table in query.scans:
        kept = _days(node, table)
        question = measure(table, _named(query.tree, table), f" WHERE {' AND '.join(kept)}" if kept else "")
        questions.append((question, query.values_in(question)))
    return questions


def _named(tree: exp.Query, table: Table) -> tuple[Field, ...]:
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if next(stars, None):
        return table.schema
    names = {column.name.lower() for column in tree.find_all(exp.Column)}
    return tuple(field for field in table.schema if field.name.lower() in names)


def _days(node: exp.Table, table: Table) -> list[str]:
    select = node.find_ancestor(exp.Select)
    where = select.args.get("where") if select else None
    if where is None or table.partitioned_by is None:
        return []
    condition = where.this
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    bounds = (bound for part in parts for bound in _bounds(part.unnest()))
    own = {"", node.alias_or_name.lower()}
    return [
        generated(compare(this=_date(exp.column(table.partitioned_by, quoted=True)), expression=_date(constant)))
        for compare, column, constant in bounds
        if column.name.lower() == table.partitioned_by.lower() and column.table.lower() in own
    ]


def _bounds(part: exp.Expr) -> list[tuple[type[exp.Binary], exp.Column, exp.Expr]]:
    """The comparisons of a column with something constant that this part of a condition stands for."""
    if isinstance(part, exp.Between):
        pairs = [(exp.GTE, part.this, part.args["low"]), (exp.LTE, part.this, part.args["high"])]
    elif type(part) in COARSE and isinstance(part, exp.Binary):
        compare = COARSE[type(part)]
        pairs = [(compare, part.left, part.right), (TURNED[compare], part.right, part.left)]
    else:
        return []
    return [
        (compare, column, constant)
        for compare, side, constant in pairs
        if isinstance(column := _undated(side), exp.Column) and not constant.find(exp.Column, exp.Query)
    ]


def _undated(node: exp.Expr) -> exp.Expr:
    """The column inside of DATE(column)."""
    node = node.unnest()
    inner = node.this if isinstance(node, exp.Date | exp.TsOrDsToDate | exp.Cast) else node
    return inner if isinstance(inner, exp.Expr) else node


def _date(node: exp.Expr) -> exp.Cast:
    return exp.cast(node.copy(), exp.DataType.Type.DATE)


def _fixed(field: Field) -> bool:
    return field.type in SIZES and field.mode != "REPEATED"


def _text(field: Field) -> str:
    return f"CAST({quoted(field.name)} AS VARCHAR)"
