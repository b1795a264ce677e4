"""Queries and jobs: `jobs.query`, `jobs.insert`, `jobs.get`, `jobs.getQueryResults`, `jobs.cancel`."""

from typing import Any, Final

from emulator.bigquery.errors import invalid
from emulator.bigquery.jobs import Job, Jobs
from emulator.bigquery.operation import Operation, object_in
from emulator.bigquery.results import Results, Wish
from emulator.web import Reply, Request

# What `jobs.query` calls by the same names as the query of a job's configuration does.
SHARED: Final = ("query", "useLegacySql", "queryParameters", "parameterMode", "defaultDataset", "maximumBytesBilled")


class JobRoutes:
    """The calls that run queries and read their rows."""

    def __init__(self, jobs: Jobs, results: Results) -> None:
        self._jobs = jobs
        self._results = results

    def query(self, request: Request, project: str) -> Operation:
        def run() -> Reply:
            asked = object_in(request)
            configuration: dict[str, Any] = {"query": {name: asked[name] for name in SHARED if name in asked}}
            if asked.get("dryRun"):
                configuration["dryRun"] = True
            job = self._jobs.asked(project, asked.get("requestId"), configuration)
            most = asked.get("maxResults")
            style = bool(asked.get("formatOptions", {}).get("useInt64Timestamp"))
            wish = Wish(0, None if most is None else int(most), style)
            return self._rows("bigquery#queryResponse", job, wish)

        return Operation("jobs.query", project, run)

    def insert(self, request: Request, project: str) -> Operation:
        def run() -> Reply:
            asked = object_in(request)
            configuration = asked.get("configuration")
            if not isinstance(configuration, dict):
                raise invalid("Required parameter is missing: configuration")
            identity = asked.get("jobReference", {}).get("jobId")
            return Reply.json(self._jobs.insert(project, identity, configuration).resource())

        return Operation("jobs.insert", project, run)

    def get(self, _: Request, project: str, job: str) -> Operation:
        return Operation("jobs.get", f"{project}/{job}", lambda: Reply.json(self._jobs.get(project, job).resource()))

    def cancel(self, _: Request, project: str, job: str) -> Operation:
        """Always too late: a job is done when it is heard of."""

        def run() -> Reply:
            found = self._jobs.get(project, job)
            return Reply.json({"kind": "bigquery#jobCancelResponse", "job": found.resource()})

        return Operation("jobs.cancel", f"{project}/{job}", run)

    def get_query_results(self, request: Request, project: str, job: str) -> Operation:
        def run() -> Reply:
            found = self._jobs.get(project, job)
            return self._rows("bigquery#getQueryResultsResponse", found, Wish.parsed(request.query))

        return Operation("jobs.getQueryResults", f"{project}/{job}", run)

    def _rows(self, kind: str, job: Job, wish: Wish) -> Reply:
        """The failure of a job is the failure of the call that asks for its rows."""
        if job.error:
            raise job.error
        told = {
            "kind": kind,
            "jobReference": job.reference,
            "jobComplete": True,
            "cacheHit": False,
            "totalBytesProcessed": str(job.outcome.processed),
            "schema": {"fields": [field.resource() for field in job.outcome.schema]},
        }
        if job.outcome.rows is None:
            return Reply.json(told)
        page = self._results.page(job.outcome.rows, wish)
        return page.reply({**told, "totalRows": str(job.outcome.rows.total)})
