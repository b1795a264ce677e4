"""What a caller asks for. Cloud Scheduler repeats a call that failed: its job and its hour are then the key."""

from collections.abc import Mapping

import flask

from flowcore.domain.errors import Code, ValidationError, shown
from flowcore.engine.start import StartRequest

LONGEST_KEY = 200


def read_request(request: flask.Request, otherwise: str) -> StartRequest:
    """`otherwise` is the key of a request that brings none: then every call is a run of its own."""
    if request.method != "POST":
        raise ValidationError(Code.INVALID_REQUEST, f"{request.method} does nothing here; POST a JSON object")
    body = request.get_json(silent=True, force=True)
    if not isinstance(body, Mapping):
        raise ValidationError(Code.INVALID_REQUEST, 'the body must be a JSON object, {"flowKey": "…"} at least')
    parameters = body.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise ValidationError(Code.INVALID_REQUEST, f"parameters: must be a map, not {shown(parameters)}")
    job = request.headers.get("X-CloudScheduler-JobName", "")
    scheduled = f"{job} {request.headers.get('X-CloudScheduler-ScheduleTime', '')}" if job else ""
    key = request.headers.get("Idempotency-Key") or body.get("idempotencyKey") or scheduled or otherwise
    if not isinstance(key, str) or len(key) > LONGEST_KEY:
        raise ValidationError(Code.INVALID_REQUEST, f"idempotencyKey: must be text of at most {LONGEST_KEY} characters")
    trigger = {"type": "SCHEDULER", "source": job} if job else {"type": "USER", "source": "start_flow"}
    return StartRequest(str(body.get("flowKey", "")), parameters, key, trigger)


def trace_id(request: flask.Request) -> str:
    """The id under which the platform's logs know this request."""
    return request.headers.get("X-Cloud-Trace-Context", "").partition("/")[0]
