"""From a request to a reply: find the operation, let the weather have its say, do it, say errors in official words."""

import math
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

import duckdb

from emulator.bigquery.errors import BigQueryError, invalid
from emulator.bigquery.job_routes import JobRoutes
from emulator.bigquery.jobs import Jobs
from emulator.bigquery.operation import Operation
from emulator.bigquery.results import Results
from emulator.bigquery.table_routes import TableRoutes
from emulator.bigquery.warehouse import Warehouse
from emulator.faults import Faults, StatusReturned
from emulator.faults.http import answer, mounted
from emulator.web import Reply, Request

Route = Callable[..., Operation]

PROJECT: Final = "/bigquery/v2/projects/(?P<project>[^/]+)"
JOB: Final = f"{PROJECT}/jobs/(?P<job>[^/]+)"
DATASET: Final = f"{PROJECT}/datasets/(?P<dataset>[^/]+)"
TABLE: Final = f"{DATASET}/tables/(?P<table>[^/]+)"


class Api:
    """The REST API over one warehouse."""

    def __init__(self, warehouse: Warehouse, faults: Faults) -> None:
        self._faults = faults
        self._warehouse = warehouse
        self._results = Results(warehouse)
        self._jobs = Jobs(warehouse, self._results)
        jobs = JobRoutes(self._jobs, self._results)
        tables = TableRoutes(warehouse, self._results)
        self._routes: list[tuple[str, re.Pattern[str], Route]] = [
            (verb, re.compile(path), route)
            for verb, path, route in (
                ("POST", f"{PROJECT}/queries", jobs.query),
                ("GET", f"{PROJECT}/queries/(?P<job>[^/]+)", jobs.get_query_results),
                ("POST", f"{PROJECT}/jobs", jobs.insert),
                ("GET", JOB, jobs.get),
                ("POST", f"{JOB}/cancel", jobs.cancel),
                ("POST", f"{PROJECT}/datasets", tables.insert_dataset),
                ("GET", DATASET, tables.get_dataset),
                ("POST", f"{DATASET}/tables", tables.insert_table),
                ("GET", TABLE, tables.get_table),
                ("GET", f"{TABLE}/data", tables.list_rows),
                ("POST", f"{TABLE}/insertAll", tables.insert_rows),
            )
        ]

    def clear(self) -> None:
        """Forget every job and its rows, and every table that was not there in the beginning."""
        self._jobs.clear()
        self._results.clear()
        self._warehouse.clear()

    def __call__(self, request: Request) -> Reply:
        if mounted(request.path):
            face = answer(self._faults, request.method, request.path, request.query, request.body)
            return Reply.json(face.value, face.status)
        try:
            operation = self._operation(request)
            with self._faults.call("bigquery", operation.method, operation.resource):
                return operation.run()
        except BigQueryError as error:
            return _failed(error)
        except (AttributeError, TypeError) as error:  # a list where an object belongs, or the like
            return _failed(invalid(f"Invalid JSON payload received. A field has a value of another type: {error}"))
        except duckdb.Error as error:  # a value of the wrong type, a column twice
            return _failed(invalid(str(error).partition("\n")[0]))
        except StatusReturned as end:
            return _failed(BigQueryError.of_status(end.status), end.status.retry_after)

    def _operation(self, request: Request) -> Operation:
        for verb, path, route in self._routes:
            match = path.fullmatch(request.path) if verb == request.method else None
            if match:
                return route(request, **{name: unquote(text) for name, text in match.groupdict().items()})
        raise BigQueryError(404, f"Not found: no operation is at {request.method} {request.path}")


def _failed(error: BigQueryError, retry_after: float | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": str(math.ceil(retry_after))}
    return Reply.json(error.body(), error.code, headers)
