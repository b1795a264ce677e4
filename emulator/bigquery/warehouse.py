"""The datasets and their rows: DuckDB in memory, with the doors to the machine around it locked.

One set of datasets serves every project that asks. What the demonstration needs is there from the beginning, but it is
made when somebody first looks at its dataset: a platform that starts must not wait for candles that nobody wants.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from itertools import islice
from typing import Any, Final

import duckdb

from emulator.bigquery import errors
from emulator.bigquery.scanning import measure
from emulator.bigquery.schema import Field, quoted
from emulator.bigquery.tables import Table

Seed = Callable[["Warehouse"], None]
Columns = Mapping[str, Any]

SETTINGS: Final = ("SET TimeZone = 'UTC'", "SET enable_external_access = false", "SET lock_configuration = true")
NAME: Final = re.compile(r"\w{1,1024}")
AT_ONCE: Final = 10_000


class Warehouse:
    """Tables by dataset and name. Every call works on a cursor of its own, so that threads do not meet."""

    def __init__(self, clock: Callable[[], datetime], seeds: Mapping[str, Seed]) -> None:
        self._clock = clock
        self._engine = duckdb.connect(":memory:")
        for setting in SETTINGS:
            self._engine.execute(setting)
        self._datasets: dict[str, dict[str, Table]] = {}
        self._seeds = dict(seeds)
        self._waiting = set(seeds)  # not yet sown
        self._touched: set[str] = set()
        self._lock = threading.RLock()

    @property
    def now(self) -> datetime:
        return self._clock()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._engine.cursor()

    def close(self) -> None:
        self._engine.close()

    def clear(self) -> None:
        """As in the beginning. A seeded dataset that nobody has changed is as in the beginning already."""
        with self._lock:
            for name in [name for name in self._datasets if name not in self._seeds or name in self._touched]:
                self.cursor().execute(f"DROP SCHEMA {quoted(name)} CASCADE")
                del self._datasets[name]
            self._waiting = {name for name in self._seeds if name not in self._datasets}
            self._touched.clear()

    # --- what there is -----------------------------------------------------------------------------------

    def dataset(self, project: str, name: str) -> dict[str, Table]:
        with self._lock:
            if name in self._waiting:
                self._waiting.discard(name)
                self._seeds[name](self)
                self._touched.discard(name)
            if name not in self._datasets:
                raise errors.no_dataset(project, name)
            return self._datasets[name]

    def table(self, project: str, dataset: str, name: str) -> Table:
        tables = self.dataset(project, dataset)
        if name not in tables:
            raise errors.no_table(project, dataset, name)
        return tables[name]

    def create_dataset(self, project: str, name: str) -> None:
        with self._lock:
            if name in self._datasets or name in self._waiting:
                raise errors.exists("Dataset", f"{project}:{name}")
            if not NAME.fullmatch(name):
                raise errors.invalid(f'Invalid dataset ID "{name}". Dataset IDs must be alphanumeric or underscores.')
            self.cursor().execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(name)}")
            self._datasets[name] = {}

    def create_table(
        self, project: str, dataset: str, name: str, schema: Sequence[Field], partitioned_by: str | None = None
    ) -> Table:
        with self._lock:
            tables = self.dataset(project, dataset)
            if name in tables:
                raise errors.exists("Table", f"{project}:{dataset}.{name}")
            if not NAME.fullmatch(name):
                raise errors.invalid(f'Invalid table ID "{name}". Table IDs must be alphanumeric or underscores.')
            table = Table(dataset, name, tuple(schema), partitioned_by, self.now)
            columns = (f"{quoted(field.name)} {field.column}{_required(field)}" for field in schema)
            self.cursor().execute(f"CREATE TABLE {table.sql} ({', '.join(columns)})")
            tables[name] = table
            self._touched.add(dataset)
            return table

    def count(self, table: Table) -> int:
        return self.number(f"SELECT count(*) FROM {table.sql}")  # noqa: S608 - quoted names

    def size(self, table: Table) -> int:
        return self.number(measure(table, table.schema))

    def number(self, question: str, values: Mapping[str, Any] | None = None) -> int:
        """The only value of the only row."""
        ((value,),) = self.cursor().execute(question, values or {}).fetchall()
        return int(value)

    # --- rows --------------------------------------------------------------------------------------------

    def load(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows, all of them or none; a value may be what Python has for it, or its text."""
        places = (f"CAST(unnest($c{place}) AS {field.column})" for place, field in enumerate(table.schema))
        sql = f"INSERT INTO {table.sql} SELECT {', '.join(places)}"
        waiting = iter(rows)
        with self.cursor() as cursor:
            cursor.begin()
            while some := list(islice(waiting, AT_ONCE)):
                columns = ([_plain(row.get(field.name)) for row in some] for field in table.schema)
                cursor.execute(sql, {f"c{place}": column for place, column in enumerate(columns)})
            cursor.commit()
        self._touched.add(table.dataset)

    def fill(self, table: Table, select: str, parts: Iterable[tuple[Columns, Mapping[str, str]]]) -> None:
        """Add whole columns, which are arrays, by a SELECT from `given` with constants; much faster than rows."""
        with self.cursor() as cursor:
            cursor.begin()
            for columns, constants in parts:
                cursor.register("given", dict(columns))
                cursor.execute(f"INSERT INTO {table.sql} SELECT {select} FROM given", dict(constants))  # noqa: S608 - ours
                cursor.unregister("given")
            cursor.commit()


def _required(field: Field) -> str:
    return " NOT NULL" if field.mode == "REQUIRED" else ""


def _plain(value: Any) -> Any:
    """Values of one column in one type that the engine can take apart: as text, inside of lists and records too."""
    match value:
        case None | str() | bytes():
            return value
        case bool():
            return "true" if value else "false"
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
    return str(value)
