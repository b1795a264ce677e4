"""A run on request: `{"flowKey": …, "parameters": {…}, "idempotencyKey": …}`, by a caller or by Cloud Scheduler."""

import math

import flask
import functions_framework

from flowcore import runtime
from flowcore.domain.errors import REGISTRY, Code, StepError, StepFailed, classify
from functions.start_flow.request import read_request, trace_id

runtime.config()  # a wrong setting stops the process here, before it serves anything


@functions_framework.http
def start_flow(request: flask.Request) -> flask.typing.ResponseReturnValue:
    try:
        started = runtime.start_run(read_request(request, otherwise=runtime.chance().token()))
    except StepFailed as failure:
        return _problem(failure.error, trace_id(request))
    except Exception as exc:  # noqa: BLE001 - whatever it is, a caller gets an answer in the usual shape
        runtime.log().error("start_failed", exc_info=exc)
        return _problem(classify(exc), trace_id(request))
    return {"runId": started.run_id, "created": started.created}, 201 if started.created else 200


def _problem(error: StepError, trace: str) -> flask.typing.ResponseReturnValue:
    about = {"code": error.code, "message": error.message, "details": error.details or {}, "traceId": trace}
    wait = {"Retry-After": str(math.ceil(error.retry_after))} if error.retry_after else {}
    return {"error": about}, REGISTRY[Code(error.code)].http_status, wait
