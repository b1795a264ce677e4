"""What no event will do: called by Cloud Scheduler, every minute, and once an hour with `?every_run=true`."""

from dataclasses import asdict

import flask
import functions_framework

from flowcore import runtime

runtime.config()  # a wrong setting stops the process here, before it serves anything


@functions_framework.http
def sweep(request: flask.Request) -> flask.typing.ResponseReturnValue:
    report = runtime.sweep_runs(every_run=request.args.get("every_run") == "true")
    return asdict(report), 500 if report.failed else 200
