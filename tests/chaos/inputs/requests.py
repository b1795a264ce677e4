"""Calls of start_flow: bodies and headers of any kind, and flow definitions that an operator got wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import flask
from werkzeug.test import EnvironBuilder

from flowcore.contracts.flows import FLOW_KEY
from flowcore.domain.errors import REGISTRY, StepFailed
from flowcore.engine.start import DEFINITIONS, Start
from functions.start_flow.request import read_request, trace_id
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.twin import COLLECTION
from tests.chaos.inputs.verdict import reached

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
    wanted = strange_request(hostile)
    return Call(definition if isinstance(definition, dict) else {}, wanted, hostile.likely(0.2))


def is_odd(wanted: dict[str, Any]) -> bool:
    sound = {"method": "POST", "data": json.dumps(BODY).encode(), "headers": {"Content-Type": _TYPES[0]}}
    return wanted != sound


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


def started(call: Call) -> Iterator[str]:
    """What is broken about the answer."""
    stage = Stage()
    stage.shelf.fields[f"{DEFINITIONS}/{FLOW}"] = call.definition
    request = flask.Request(EnvironBuilder(path="/", **call.wanted).get_environ())
    start = Start(stage.shelf, COLLECTION, stage.clock, stage.chance, stage.log, 60.0)
    try:
        trace_id(request)
        answer = start.handle(read_request(request, otherwise="otherwise"))
    except StepFailed as failure:
        if failure.error.code not in REGISTRY or failure.error.code == "INTERNAL":
            yield f"answered with {failure.error.code}"
        return
    except Exception as exc:  # noqa: BLE001 - whatever it is: the caller would have seen a 500
        yield f"start_flow: {reached(exc)}"
        return
    run = stage.shelf.fields.get(f"{COLLECTION}/{answer.run_id}")
    if run is None or not FLOW_KEY.match(answer.run_id):
        yield f"there is no run {answer.run_id!r:.60} after it was started"
    elif call.plays:
        stage.play(answer.run_id, run)
        yield from stage.broken
        if not stage.finished(answer.run_id):
            yield "a run that start_flow made never ends"


def _printable(text: str) -> str:
    """What a header can hold: Latin-1 in one line."""
    return "".join(letter for letter in text if 32 <= ord(letter) < 256).strip()
