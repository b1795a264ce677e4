"""Jobs: a query that was asked, and what became of it.

A job is done when the call that makes it returns. It is remembered by its id, and so is the request of `jobs.query`
that made it: a client that lost the reply asks again with the same one, and must not pay for a second job.
"""

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from emulator.bigquery import errors, parameters, scanning
from emulator.bigquery.dialect import Query, parsed, understood
from emulator.bigquery.errors import LOCATION, BigQueryError
from emulator.bigquery.results import Results, Rows
from emulator.bigquery.schema import Field
from emulator.bigquery.warehouse import Warehouse


@dataclass(frozen=True)
class Outcome:
    """What a query gave: its columns and its costs, and its rows unless it was a dry run."""

    schema: tuple[Field, ...] = ()
    processed: int = 0
    billed: int = 0
    rows: Rows | None = None


@dataclass(frozen=True)
class Job:
    """A finished job, well or not."""

    project: str
    id: str
    configuration: Mapping[str, Any]
    created: datetime
    ended: datetime
    outcome: Outcome
    error: BigQueryError | None = None

    @property
    def dry(self) -> bool:
        return bool(self.configuration.get("dryRun"))

    @property
    def reference(self) -> dict[str, str]:
        own = {} if self.dry else {"jobId": self.id}
        return {"projectId": self.project, **own, "location": LOCATION}

    def resource(self) -> dict[str, Any]:
        failed = {"errorResult": self.error.proto(), "errors": [self.error.proto()]} if self.error else {}
        processed = str(self.outcome.processed)
        return {
            "kind": "bigquery#job",
            "id": f"{self.project}:{LOCATION}.{self.id}",
            "jobReference": self.reference,
            "configuration": {"jobType": "QUERY", **self.configuration},
            "status": {"state": "DONE", **failed},
            "statistics": {
                "creationTime": _millis(self.created),
                "startTime": _millis(self.created),
                "endTime": _millis(self.ended),
                "totalBytesProcessed": processed,
                "query": {
                    "statementType": "SELECT",
                    "totalBytesProcessed": processed,
                    "totalBytesBilled": str(self.outcome.billed),
                    "cacheHit": False,
                    "schema": {"fields": [field.resource() for field in self.outcome.schema]},
                },
            },
        }


class Jobs:
    """Every job since the server was started."""

    def __init__(self, warehouse: Warehouse, results: Results) -> None:
        self._warehouse = warehouse
        self._results = results
        self._jobs: dict[tuple[str, str], Job] = {}
        self._asked: dict[str, Job] = {}
        self._lock = threading.Lock()

    def clear(self) -> None:
        with self._lock:
            self._jobs.clear()
            self._asked.clear()

    def get(self, project: str, identity: str) -> Job:
        with self._lock:
            if (project, identity) not in self._jobs:
                raise errors.no_job(project, identity)
            return self._jobs[project, identity]

    def insert(self, project: str, identity: str | None, configuration: Mapping[str, Any]) -> Job:
        """Run a job; what the parser refuses is refused at once, everything else is the job's own failure."""
        with self._lock:
            if identity and (project, identity) in self._jobs:
                raise errors.exists("Job", f"{project}:{LOCATION}.{identity}")
        query = configuration.get("query")
        if not isinstance(query, Mapping):
            raise errors.not_emulated("a job that is not a query")
        parsed(_text(query))
        return self._run(project, identity or uuid.uuid4().hex, configuration)

    def asked(self, project: str, request: str | None, configuration: Mapping[str, Any]) -> Job:
        """Run the job of `jobs.query`, or find the one that the same request has made before."""
        with self._lock:
            if request and request in self._asked:
                return self._asked[request]
        job = self._run(project, f"job_{uuid.uuid4().hex}", configuration)
        with self._lock:
            if request and not job.error:
                self._asked[request] = job
        return job

    def _run(self, project: str, identity: str, configuration: Mapping[str, Any]) -> Job:
        began, error, outcome = self._warehouse.now, None, Outcome()
        try:
            outcome = self._outcome(project, configuration)
        except BigQueryError as failure:
            if configuration.get("dryRun"):
                raise  # there is no job that could have failed
            error = failure
        job = Job(project, identity, configuration, began, self._warehouse.now, outcome, error)
        if not job.dry:
            with self._lock:
                self._jobs[project, identity] = job
        return job

    def _outcome(self, project: str, configuration: Mapping[str, Any]) -> Outcome:
        wish = configuration["query"]
        query = understood(
            _text(wish),
            parameters.parsed(wish.get("queryParameters", ())),
            lambda dataset, table: self._warehouse.table(project, dataset, table),
            wish.get("defaultDataset", {}).get("datasetId"),
            self._warehouse.now,
        )
        try:
            return self._answer(query, int(wish.get("maximumBytesBilled") or 0), dry=bool(configuration.get("dryRun")))
        except duckdb.Error as error:
            raise query.refused(str(error)) from None

    def _answer(self, query: Query, limit: int, *, dry: bool) -> Outcome:
        processed = sum(self._warehouse.number(*question) for question in scanning.measures(query))
        billed = scanning.billed(processed, len(query.scans))
        if dry:
            return Outcome(self._results.shape(query.sql, query.values), processed)
        if limit and billed > limit:
            raise errors.too_many_bytes(limit, billed)
        rows = self._results.keep(query.sql, query.values)
        return Outcome(rows.schema, processed, billed, rows)


def _text(query: Mapping[str, Any]) -> str:
    if query.get("useLegacySql", True):
        raise errors.not_emulated("legacy SQL; set useLegacySql to false")
    return str(query.get("query", ""))


def _millis(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1000))
