"""The rows that queries gave, a page at a time.

As in the real service a result is a table of its own, without a name, and a page is read out of it when it is asked
for. So a page can be asked for again, a million rows cost the server no million objects, and the oldest results are
let go when there are too many.
"""

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb

from emulator.bigquery.cells import row_as_json
from emulator.bigquery.errors import expired, invalid
from emulator.bigquery.schema import Field, described, quoted
from emulator.bigquery.warehouse import Warehouse
from emulator.web import Reply

SCHEMA: Final = "anonymous results"  # no dataset can have this name
PAGE_BYTES: Final = 5_000_000
PAGE_ROWS: Final = 50_000
AT_ONCE: Final = 100
KEPT_ROWS: Final = 3_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows lie, and what they look like."""

    sql: str
    schema: tuple[Field, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, as the wire has them, and where the next begin."""

    rows: list[str]
    next: int | None

    def reply(self, around: Mapping[str, Any]) -> Reply:
        """The page inside of what else there is to say; the rows are JSON already."""
        whole = dict(around) if self.next is None else {**around, "pageToken": str(self.next)}
        reply = Reply.json(whole)
        if not self.rows or not isinstance(reply.body, bytes):
            return reply
        rows = f', "rows": [{",".join(self.rows)}]}}'
        return replace(reply, body=reply.body.removesuffix(b"}") + rows.encode())


@dataclass(frozen=True, slots=True)
class Wish:
    """Which page is asked for, and how it is to be written."""

    start: int = 0
    most: int | None = None
    int64_timestamps: bool = False

    @classmethod
    def parsed(cls, query: Mapping[str, str]) -> "Wish":
        """From the parameters of a URL."""
        try:
            start = int(query.get("pageToken") or query.get("startIndex") or 0)
            most = int(query["maxResults"]) if query.get("maxResults") else None
        except ValueError:
            raise invalid("Invalid value for pageToken, startIndex or maxResults") from None
        asked = query.get("formatOptions.useInt64Timestamp", "").lower()
        return cls(max(0, start), most, asked == "true")


class Results:
    """What was found, by the order of finding."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._numbers = itertools.count(1)
        self._kept: list[Rows] = []
        self._lock = threading.Lock()
        warehouse.cursor().execute(f"CREATE SCHEMA {quoted(SCHEMA)}")

    def keep(self, sql: str, values: Mapping[str, Any]) -> Rows:
        """Run a query, and keep what it finds."""
        name = f"{quoted(SCHEMA)}.{quoted(f'r{next(self._numbers)}')}"
        with self._warehouse.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} AS {sql}", dict(values))
        rows = Rows(name, self.shape(f"SELECT * FROM {name}"), self._warehouse.number(f"SELECT count(*) FROM {name}"))  # noqa: S608 - ours
        with self._lock:
            self._kept.append(rows)
            while len(self._kept) > 1 and sum(one.total for one in self._kept) > KEPT_ROWS:
                self._warehouse.cursor().execute(f"DROP TABLE {self._kept.pop(0).sql}")
        return rows

    def clear(self) -> None:
        with self._lock:
            for rows in self._kept:
                self._warehouse.cursor().execute(f"DROP TABLE {rows.sql}")
            self._kept = []

    def shape(self, sql: str, values: Mapping[str, Any] | None = None) -> tuple[Field, ...]:
        """The columns of a query, without its rows."""
        with self._warehouse.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({sql}) LIMIT 0", dict(values or {}))  # noqa: S608 - it is a query
            found = cursor.description or ()
        return described([(column[0], column[1]) for column in found])

    def page(self, rows: Rows, wish: Wish, columns: Sequence[Field] | None = None) -> Page:
        """The rows from there on, as many as are wanted, and as fit into a page; none wanted is a page, too."""
        if wish.most == 0:
            return Page([], None)
        row = row_as_json(rows.schema if columns is None else columns, int64_timestamps=wish.int64_timestamps)
        end = wish.start + min(wish.most or PAGE_ROWS, PAGE_ROWS)
        written: list[str] = []
        size = 0
        with self._warehouse.cursor() as cursor:
            sql = f"SELECT {row} FROM {rows.sql} WHERE rowid >= $start AND rowid < $end ORDER BY rowid"  # noqa: S608 - ours
            try:
                cursor.execute(sql, {"start": wish.start, "end": end})
            except duckdb.CatalogException:
                raise expired() from None
            while size < PAGE_BYTES and (some := cursor.fetchmany(AT_ONCE)):
                written += [text for (text,) in some]
                size += sum(len(text) for (text,) in some)
        reached = wish.start + len(written)
        return Page(written, reached if reached < rows.total else None)
