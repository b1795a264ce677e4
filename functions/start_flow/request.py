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
    body = _body(request)
    if not isinstance(body, Mapping):
        raise ValidationError(Code.INVALID_REQUEST, 'the body must be a JSON object, {"flowKey": "…"} at least')
    parameters = body.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise ValidationError(Code.INVALID_REQUEST, f"parameters: must be a map, not {shown(parameters)}")
    job = request.headers.get("X-CloudScheduler-JobName", "")
    scheduled = f"{job} {request.headers.get('X-CloudScheduler-ScheduleTime', '')}" if job else ""
    given = request.headers.get("Idempotency-Key") or body.get("idempotencyKey")
    key = scheduled or otherwise if given is None else given
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        # An empty one, too: whoever sends it counts on being told apart, and would get a run for every call.
        raise ValidationError(
            Code.INVALID_REQUEST, f"idempotencyKey: must be printable text of 1 to {LONGEST_KEY} characters"
        )
    trigger = {"type": "SCHEDULER", "source": job} if job else {"type": "USER", "source": "start_flow"}
    return StartRequest(str(body.get("flowKey", "")), parameters, key, trigger)


def _body(request: flask.Request) -> object:
    try:
        return request.get_json(silent=True, force=True)
    except RecursionError:  # nested as nobody nests; `silent` does not think of it
        return None


def trace_id(request: flask.Request) -> str:
    """The id under which the platform's logs know this request."""
    return request.headers.get("X-Cloud-Trace-Context", "").partition("/")[0]
