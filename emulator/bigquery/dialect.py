"""A query in BigQuery's SQL, understood: which tables it scans, and the same question in DuckDB's SQL.

Names are resolved here and not by the engine, because only here is it known which dataset is the default one, and in
which words the real service refuses a table that does not exist.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlglot
from sqlglot import Token, TokenType, exp

# By its name a dialect is loaded when it is first wanted, and whoever wants it meanwhile gets half of it. So: now.
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, ParseError, TokenError, UnsupportedError

from emulator.bigquery import parameters
from emulator.bigquery.errors import BigQueryError, invalid, invalid_query, not_emulated
from emulator.bigquery.parameters import Parameter
from emulator.bigquery.positions import position
from emulator.bigquery.tables import Table

Lookup = Callable[[str, str], Table]

UNKNOWN_COLUMN: Final = re.compile(
    r'column "(?P<name>[^"]+)" not found|does not have a column named "(?P<other>[^"]+)"'
)
MISSING: Final = re.compile("SENTINEL|Required keyword|Expecting")  # what the parser says when the text ended too soon
UNKNOWN_FUNCTION: Final = re.compile(r"Function with name (?P<name>\S+) does not exist")


@dataclass(frozen=True)
class Query:
    """What is to be run, with the values for its places, and the tables that it reads, once for each mention."""

    text: str
    tree: exp.Query
    values: dict[str, Any]
    scans: list[tuple[exp.Table, Table]]

    @property
    def sql(self) -> str:
        return generated(self.tree)

    def values_in(self, sql: str) -> dict[str, Any]:
        """Only the values that a part of the query has places for: the engine refuses the rest."""
        return {name: value for name, value in self.values.items() if re.search(rf"\${name}\b", sql)}

    def refused(self, complaint: str) -> BigQueryError:
        """The engine's complaint, in the words of the service where we know them."""
        if match := UNKNOWN_COLUMN.search(complaint):
            name = match["name"] or match["other"]
            return invalid_query(f"Unrecognized name: {name} at {self._found(name)}")
        if match := UNKNOWN_FUNCTION.search(complaint):
            return invalid_query(f"Function not found: {match['name']} at {self._found(match['name'])}")
        said = complaint.partition("\n")[0].partition(": ")[2] or complaint
        return invalid_query(said)

    def _found(self, name: str) -> str:
        match = re.search(rf"\b{re.escape(name)}\b", self.text, re.IGNORECASE)
        return position(self.text, match.start() if match else 0)


def understood(
    sql: str, given: Sequence[Parameter], lookup: Lookup, default_dataset: str | None, now: datetime
) -> Query:
    """The query with every table found and every parameter in its place, or the refusal."""
    tree, text = parsed(sql)
    scans = [(node, _table(node, lookup, default_dataset)) for node in _tables(tree)]
    for node, table in scans:
        node.set("catalog", None)
        node.set("db", exp.to_identifier(table.dataset, quoted=True))
        node.set("this", exp.to_identifier(table.name, quoted=True))
    values = parameters.bind(tree, given, text)
    _mean_the_same(tree, now)
    _name_columns(tree)
    return Query(text, tree, values, scans)


def generated(tree: exp.Expr) -> str:
    try:
        return tree.sql(DuckDB, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise not_emulated(str(error)) from None


def parsed(sql: str) -> tuple[exp.Query, str]:
    """The tree of the only statement, and the text that its positions are about."""
    try:
        text = parameters.numbered(sql)
        statements = [one for one in sqlglot.parse(text, read=BigQuery) if one is not None]
    except TokenError:
        raise invalid_query(f"Syntax error: Unclosed string literal at {position(sql, _last_quote(sql))}") from None
    except ParseError as error:
        raise _syntax_error(sql, error.errors[0]) from None
    if not statements:
        raise invalid_query("Syntax error: Unexpected end of statement at [1:1]")
    if len(statements) > 1:
        raise not_emulated("a script of several statements")
    (tree,) = statements
    if isinstance(tree, exp.Query):
        return tree, text
    if isinstance(tree, exp.DDL | exp.DML | exp.Command):
        raise not_emulated(f"{tree.key.upper()} statements; only queries are run")
    raise _unexpected(sqlglot.tokenize(text, read=BigQuery)[0], text)


def _syntax_error(sql: str, complaint: dict[str, Any]) -> BigQueryError:
    tokens = sqlglot.tokenize(sql, read=BigQuery)
    if tokens[0].token_type is TokenType.VAR:  # no statement begins with a name: the parser stumbles later
        return _unexpected(tokens[0], sql)
    at = next((n for n, one in enumerate(tokens) if (one.line, one.col) == (complaint["line"], complaint["col"])), 0)
    if at == len(tokens) - 1 and MISSING.search(complaint["description"]):
        return invalid_query(f"Syntax error: Unexpected end of statement at {position(sql, len(sql))}")
    return _unexpected(tokens[at], sql)


def _unexpected(token: Token, sql: str) -> BigQueryError:
    kinds = {TokenType.VAR: "identifier ", TokenType.STRING: "string literal ", TokenType.NUMBER: "integer literal "}
    kind = kinds.get(token.token_type, "keyword " if token.text.isalpha() else "")
    shown = token.text.upper() if kind == "keyword " else f'"{token.text}"'
    return invalid_query(f"Syntax error: Unexpected {kind}{shown} at {position(sql, token.start)}")


def _last_quote(sql: str) -> int:
    return max(sql.rfind("'"), sql.rfind('"'), sql.rfind("`"))


def _tables(tree: exp.Query) -> list[exp.Table]:
    """The mentions of tables, without those of the query's own WITH."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    return [node for node in tree.find_all(exp.Table) if node.db or node.name.lower() not in own]


def _table(node: exp.Table, lookup: Lookup, default_dataset: str | None) -> Table:
    if not isinstance(node.this, exp.Identifier):
        raise not_emulated("a table-valued function")
    dataset = node.db or default_dataset
    if not dataset:
        raise invalid(f'Table "{node.name}" must be qualified with a dataset (e.g. dataset.table).')
    return lookup(dataset, node.name)


def _mean_the_same(tree: exp.Query, now: datetime) -> None:
    """Where the engine would take the same words differently, other words."""
    for clock in list(tree.find_all(exp.CurrentTimestamp)):
        clock.replace(exp.cast(exp.Literal.string(now.isoformat()), exp.DataType.Type.TIMESTAMPTZ))
    for number in [one for one in tree.find_all(exp.Literal) if one.is_number and not one.is_int]:
        number.replace(exp.cast(number.copy(), exp.DataType.Type.DOUBLE))  # a NUMERIC says so; 1.5 alone is a FLOAT64
    for division in reversed(list(tree.find_all(exp.Div))):  # the inner ones first
        message = exp.Literal.string(f"division by zero: {division.sql('bigquery')}")
        zero = exp.EQ(this=division.right.copy(), expression=exp.Literal.number(0))
        divisor = exp.Case(default=division.right).when(zero, exp.func("error", message))
        division.set("expression", divisor)


def _name_columns(tree: exp.Query) -> None:
    """Columns without a name are f0_, f1_, …, and no two have the same."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.left
    if not isinstance(tree, exp.Select):
        return
    nameless = 0
    for column in tree.selects:
        if not isinstance(column, exp.Alias | exp.Column | exp.Dot) and not column.is_star:
            column.replace(exp.alias_(column.copy(), f"f{nameless}_"))
            nameless += 1
    names = [column.alias_or_name.lower() for column in tree.selects if not column.is_star]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid_query(
            f"Duplicate column names in the result are not supported. Found duplicate(s): {', '.join(twice)}"
        )
