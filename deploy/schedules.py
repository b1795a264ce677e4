"""Cloud Scheduler: the sweep, once a minute and once an hour, and the flows that run by themselves.

A call carries a token of the scheduler's account, made out to the function that is called. A call that fails is tried
again; `start_flow` takes the job and its hour as the key of the run, so it is still one run.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.commands import Change, Command, Step, Word, gcloud, joined
from deploy.grants import SCHEDULER
from deploy.target import Target
from functions.catalogue import Deployable

_EVERY = {60: "* * * * *", 3600: "0 * * * *"}
_HEADERS = "Content-Type=application/json"


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    when: str
    function: Deployable
    query: str = ""
    body: str = ""


def schedules(target: Target, functions: Sequence[Deployable]) -> Iterator[Step]:
    for job in _jobs(target, functions):
        yield _step(target, job)


def _jobs(target: Target, functions: Sequence[Deployable]) -> Iterator[Job]:
    for function in functions:
        for query, seconds in function.schedules.items():
            name = "-".join([function.name, *re.findall("[a-z]+", query.partition("=")[0])])
            yield Job(target.named(name), _EVERY[int(seconds)], function, query)
    (starter,) = [function for function in functions if function.name == "start_flow"]
    for each in target.flows:
        body = json.dumps({"flowKey": each.flow, "parameters": each.parameters}, sort_keys=True)
        yield Job(target.named(each.flow), each.schedule, starter, body=body)


def _step(target: Target, job: Job) -> Step:
    settings, project, more = _settings(target, job), target.project, f"--update-headers={_HEADERS}"
    return Step(
        f"{target.named(job.function.name)} is called at {job.when}: the job {job.name}",
        gcloud("scheduler", "jobs", "create", "http", job.name, *settings, f"--headers={_HEADERS}", project=project),
        gcloud("scheduler", "jobs", "list", f"--location={target.region}", "--format=json", project=project),
        lambda found: _is_as_wished(target, job, _there(job, found)),
        Change(
            lambda found: _there(job, found) is not None,
            gcloud("scheduler", "jobs", "update", "http", job.name, *settings, more, project=project),
        ),
    )


def _settings(target: Target, job: Job) -> Sequence[Word]:
    url = _url(target, job.function)
    return (
        f"--location={target.region}",
        f"--schedule={job.when}",
        "--time-zone=Etc/UTC",
        joined("--uri=", url, *([f"?{job.query}"] if job.query else [])),
        "--http-method=post",
        *([f"--message-body={job.body}"] if job.body else []),
        f"--oidc-service-account-email={target.email(SCHEDULER)}",
        joined("--oidc-token-audience=", url),
        f"--attempt-deadline={job.function.timeout:g}s",
        "--max-retry-attempts=3",
    )


def _url(target: Target, function: Deployable) -> Command:
    return gcloud(
        "functions", "describe", target.named(function.name), f"--region={target.region}",
        "--format=value(serviceConfig.uri)", project=target.project,
    )  # fmt: skip


def _there(job: Job, found: Any) -> Any:
    return next((each for each in found if each["name"].rpartition("/")[2] == job.name), None)


def _is_as_wished(target: Target, job: Job, there: Any) -> bool:
    """The URL is the function's own, and never changes; what a person would change is compared."""
    call = (there or {}).get("httpTarget", {})
    return bool(
        there
        and there.get("schedule") == job.when
        and there.get("state") == "ENABLED"
        and call.get("uri", "").partition("?")[2] == job.query
        and base64.b64decode(call.get("body", "")).decode() == job.body
        and call.get("oidcToken", {}).get("serviceAccountEmail") == target.email(SCHEDULER)
    )
