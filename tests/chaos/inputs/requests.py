"""Calls of start_flow: bodies and headers of any kind, and flow definitions that an operator got wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import flask
from werkzeug.test import EnvironBuilder

from flowcore.domain.errors import REGISTRY, StepFailed
from flowcore.domain.model import RUN_ID
from flowcore.engine.start import DEFINITIONS, Start
from functions.start_flow.request import read_request, trace_id
from tests.chaos.inputs import verdict
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.twin import COLLECTION
from tests.chaos.inputs.verdict import Judged

FLOW: Final = "market_report_v1"
DEFINITION: Final[dict[str, Any]] = {
    "flowKey": FLOW,
    "parameters": {
        "symbol": {"default": "BTCUSDT", "pattern": "[A-Z0-9]+"},
        "timeframes": {"default": ["1M", "1w"]},
        "depth": {"default": 3},
        "free": {"default": None},
    },
    "steps": {
        "ohlcv_${timeframe}": {
            "stepType": "OHLCV_EXPORT",
            "timeframe": "${timeframe}",
            "inputs": {"symbol": "${symbol}"},
        },
        "all": {"stepType": "HEATMAP", "dependsOn": ["ohlcv_${timeframe}"], "inputs": {"first": "${timeframes.0}"}},
    },
}
BODY: Final[dict[str, Any]] = {
    "flowKey": FLOW,
    "parameters": {"symbol": "ETHUSDT", "timeframes": ["1d"], "depth": 4},
    "idempotencyKey": "k-1",
}
SOUND: Final = {"method": "POST", "data": json.dumps(BODY).encode(), "headers": {"Content-Type": "application/json"}}
_METHODS: Final = ("POST", "POST", "POST", "POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW")
_TYPES: Final = (
    "application/json",
    "text/plain",
    "",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-7",
)


@dataclass(frozen=True, slots=True)
class Call:
    """`plays`: the run that comes of it is played to its end."""

    definition: dict[str, Any]
    wanted: dict[str, Any]
    plays: bool

    @property
    def odd(self) -> bool:
        return self.definition != DEFINITION or is_odd(self.wanted)


def strange_call(hostile: Hostile) -> Call:
    """A request for a run of a flow that may be wrong itself."""
    definition = hostile.spoiled(DEFINITION, hostile.chance.randrange(5))
    wanted = strange_request(hostile) if hostile.likely(0.6) else {**SOUND, "data": _body_that_is_read(hostile)}
    return Call(definition if isinstance(definition, dict) else {}, wanted, hostile.likely(0.2))


def _body_that_is_read(hostile: Hostile) -> bytes:
    """In order, but for the parameters, and mostly even so: else no flow would ever be looked at."""
    parameters = hostile.spoiled(BODY["parameters"], hostile.one((0, 0, 1)), value=hostile.json_value)
    return json.dumps({**BODY, "parameters": parameters}).encode()


def is_odd(wanted: dict[str, Any]) -> bool:
    return wanted != SOUND


def strange_request(hostile: Hostile) -> dict[str, Any]:
    """What a client would send, in the words of werkzeug and of requests alike."""
    body = hostile.spoiled(BODY, hostile.chance.randrange(3), value=hostile.json_value)
    headers = {"Content-Type": hostile.one(_TYPES)}
    for name in (
        "Idempotency-Key",
        "X-CloudScheduler-JobName",
        "X-CloudScheduler-ScheduleTime",
        "X-Cloud-Trace-Context",
    ):
        if hostile.likely(0.2):
            headers[name] = _printable(hostile.one((hostile.text(), "x" * 201, "a/b;o=1", "")))
    content = hostile.json_bytes(body) if hostile.likely(0.5) else json.dumps(body).encode()
    if hostile.likely(0.1):  # as deep as can be read, and a little deeper
        deep = hostile.one((13, 20, 100, 800, *range(900, 1000, 3)))
        content = (
            json.dumps({**BODY, "parameters": {"free": "deep"}}).replace('"deep"', "[" * deep + "]" * deep).encode()
        )
    return {"method": hostile.one(_METHODS), "data": content, "headers": headers}


def started(call: Call) -> Judged:
    """It is answered with a run or with a reason, and no document is written but that run."""
    stage = Stage()
    stage.shelf.fields[f"{DEFINITIONS}/{FLOW}"] = call.definition
    request = flask.Request(EnvironBuilder(path="/", **call.wanted).get_environ())
    start = Start(stage.shelf, COLLECTION, stage.clock, stage.chance, stage.log, 60.0)
    try:
        trace_id(request)
        run_id = start.handle(read_request(request, otherwise="otherwise")).run_id
    except StepFailed as failure:
        code = str(failure.error.code)
        undocumented = [f"answered with {code}"] if code not in REGISTRY or code == "INTERNAL" else []
        return Judged((code,), (*undocumented, *verdict.of_writes(stage.shelf.written, [])))
    except Exception as exc:  # noqa: BLE001 - whatever it is: the caller would have seen a 500
        return Judged(("crashed",), (f"start_flow: {verdict.reached(exc)}",))
    path = f"{COLLECTION}/{run_id}"
    return Judged(("a run",), (*_of_run(stage, run_id, call), *verdict.of_writes(stage.shelf.written, [path])))


def _of_run(stage: Stage, run_id: str, call: Call) -> Iterator[str]:
    run = stage.shelf.fields.get(f"{COLLECTION}/{run_id}")
    if run is None or not RUN_ID.fullmatch(run_id):
        yield f"there is no run {run_id!r:.60} after it was started"
    elif call.plays:
        stage.play(run_id, run)
        yield from stage.broken
        yield from verdict.of_writes(stage.runs.asked_for, [run_id])
        if not stage.finished(run_id):
            yield "a run that start_flow made never ends"


def _printable(text: str) -> str:
    """What a header can hold: Latin-1 in one line."""
    return "".join(letter for letter in text if 32 <= ord(letter) < 256).strip()
