"""Bad input through the real thing: real clients, real events, the functions under functions-framework, the platform.

What the twins cannot show is shown here: what the client libraries and the framework make of it, and that no answer to
an event is a failure (the platform would deliver it again, for a day).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
import requests as http
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.firestore import DocumentReference

from emulator.platform import Platform
from flowcore.domain.errors import REGISTRY
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.inputs import healthy, requests, verdict
from tests.chaos.inputs.documents import strange
from tests.chaos.inputs.events import strange_event
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.material import strange_material
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.functions.hosting import hosted
from tests.functions.system import System, forget_wiring

TOGETHER: Final = 20  # documents that are written before anybody looks
ROUNDS: Final = 40
RUN_FUNCTIONS: Final = ("advance_flow", "worker_ohlcv_export", "worker_charts", "worker_llm_report")
PROTOBUF: Final = "application/protobuf"


@contextmanager
def a_system() -> Iterator[System]:
    """A platform and functions of its own, whoever else has some in this process."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    forget_wiring()
    with Platform(time_scale=1000.0) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        with hosted(platform) as system:
            yield system


@dataclass
class Session:
    """A system that is cleaned between the cases, and what it is asked to watch over."""

    system: System

    def renew(self, stage: Stage | None = None) -> None:
        self.system.platform.reset()
        self.system.renew()
        for path, fields in (stage or _furnished()).shelf.fields.items():
            self.system.put(path, self.storable(fields))
        for name, (stored, content) in (stage or _furnished()).artifacts.objects.items():
            self.system.put_object(name, content, metadata=stored.metadata)
        self.system.settle()
        self.system.faults.history.clear()

    def storable(self, value: Any) -> Any:
        """The same with references that belong to this client."""
        if isinstance(value, DocumentReference):
            return self.system.db.document(*value._path)
        if isinstance(value, Mapping):
            return {key: self.storable(item) for key, item in value.items()}
        return [self.storable(item) for item in value] if isinstance(value, list) else value

    def written(self, run_id: str, document: Mapping[str, Any]) -> bool:
        """Whether Firestore, or its client, took it."""
        try:
            self.system.db.collection("flow_runs").document(run_id).set(self.storable(document))
        except (GoogleAPICallError, ValueError, TypeError):
            return False
        return True

    def played_out(self, run_ids: list[str]) -> None:
        """Until every run is at its end, or time should have brought it there."""
        self.system.settle()
        for number in range(ROUNDS):
            if all(self.document(run_id).get("status") in verdict.TERMINAL for run_id in run_ids):
                return
            self.system.later(301 if number < 20 else 90 * 86_400)
            self.system.sweep(every_run=number % 4 == 0)

    def document(self, run_id: str) -> dict[str, Any]:
        found = self.system.db.collection("flow_runs").document(run_id).get().to_dict()
        return found or {}

    def broken(self, run_ids: list[str], stored_before: set[str]) -> Iterator[str]:
        """What the platform and the log have seen that should not have been."""
        lines = ((line["event"], {**line, "exc_info": line.get("exc_info")}) for line in self.system.logs)
        yield from verdict.of_log(lines)
        for note in self.system.faults.history.of("event"):
            if note.detail["outcome"] != "delivered" and "512 KB" not in note.detail["outcome"]:
                yield f"an event was answered with {note.detail['outcome']!r:.80} by {note.method}"
        for record in self.system.faults.history.of("write", service="firestore"):
            if record.resource.removeprefix("flow_runs/") not in run_ids:
                yield f"a write outside of the run: {record.resource!r:.80}"
        for name in set(self.system.objects()) - stored_before:
            owners = [run_id for run_id in run_ids if name.startswith((f"runs/{run_id}/", f"charts/{run_id}/"))]
            if not owners:
                yield f"an object outside of the run: {name!r:.80}"


def _furnished() -> Stage:
    stage = Stage()
    prepared(stage)
    return stage


# --- the cases ----------------------------------------------------------------------------------------------


def documents(session: Session, seeds: list[str]) -> Iterator[str]:
    """Several documents at once: they have nothing to do with each other, and waiting is what takes the time."""
    session.renew()
    there = set(session.system.objects())
    before: dict[str, dict[str, Any]] = {}
    came_from: dict[str, str] = {}
    for number, seed in enumerate(seeds):
        odd = strange(Hostile(seed))
        run_id = f"r{number}" if odd.run_id == RUN_ID else f"{odd.run_id[:1300]}{number}"
        own = {**odd.document, "runId": run_id} if odd.document.get("runId") == odd.run_id else odd.document
        if session.written(run_id, own):
            before[run_id], came_from[run_id] = own, seed
    session.played_out([run_id for run_id, document in before.items() if "status" in document])
    for run_id, document in before.items():
        found = verdict.of_run(run_id, document, session.document(run_id))
        yield from (f"{came_from[run_id]}: {broken}" for broken in found)
    yield from (f"{seeds[0]} and the next: {broken}" for broken in session.broken(list(before), there))


def material(session: Session, seeds: list[str]) -> Iterator[str]:
    for seed in seeds:
        recipe = Stage()
        run = strange_material(Hostile(seed), recipe)
        texts = [recipe.answer(None).text for _ in range(2)]  # type: ignore[arg-type]  # it is what the case says
        try:
            session.renew(recipe)
        except (GoogleAPICallError, ValueError, TypeError):
            continue
        for text in texts:
            session.system.platform.gemini.script.say(text or "")
        there = set(session.system.objects())
        if session.written(RUN_ID, run):
            session.played_out([RUN_ID])
            yield from (f"{seed}: {broken}" for broken in verdict.of_run(RUN_ID, run, session.document(RUN_ID)))
            yield from (f"{seed}: {broken}" for broken in session.broken([RUN_ID], there))


def events(session: Session, seeds: list[str]) -> Iterator[str]:
    session.renew()
    there = set(session.system.objects())
    run = healthy.a_market_run("SUCCEEDED")
    session.written(RUN_ID, run)
    session.system.settle()
    before = session.document(RUN_ID)
    for seed in seeds:
        hostile = Hostile(seed)
        odd = strange_event(hostile, hostile.one((run, {})))
        headers = {f"ce-{name}": _header(value) for name, value in odd.attributes.items()}
        headers |= {"ce-specversion": "1.0", "ce-source": "//firestore"} if hostile.likely(0.9) else {}
        headers["content-type"] = hostile.one(
            (PROTOBUF, PROTOBUF, "application/json", "application/cloudevents+json", "")
        )
        body = odd.data if isinstance(odd.data, bytes) else str(odd.data or "").encode()
        for function in RUN_FUNCTIONS:
            said = len(session.system.lines)
            answer = session.system.call(function, data=body, headers=headers)
            # What is no CloudEvent in binary mode the framework refuses by itself, in whichever way: no line of ours.
            ours = len(session.system.lines) > said or _is_an_event(headers)
            if ours and answer.status_code != 200:
                yield f"{seed}: {function} answered {answer.status_code} to {headers!r:.200}"
    if session.document(RUN_ID) != before:
        yield f"{seeds[0]} and the next: a finished run was written"
    yield from (f"{seeds[0]} and the next: {broken}" for broken in session.broken([RUN_ID], there))


def calls(session: Session, seeds: list[str]) -> Iterator[str]:
    session.renew()
    session.system.put(f"flow_definitions/{requests.FLOW}", requests.DEFINITION)
    for seed in seeds:
        hostile = Hostile(seed)
        wanted = requests.strange_request(hostile)
        wanted["headers"] = {name: value for name, value in wanted["headers"].items() if value}
        function = hostile.one(("start_flow", "start_flow", "start_flow", "sweep"))
        odd = hostile.one(("", "?every_run=1", "?every_run=true", f"?every_run={'x' * 3000}", "?%00=%ff", "?a=1&a=2"))
        try:
            answer = http.request(url=f"{session.system.url}/{function}/{odd}", timeout=30, **wanted)
        except UnicodeError:
            continue  # the client itself cannot send it
        if answer.status_code >= 500:
            yield f"{seed}: {function} answered {answer.status_code} to {wanted!r:.200}"
        elif function == "start_flow" and answer.status_code >= 400 and _code(answer) not in REGISTRY:
            yield f"{seed}: an answer without a code: {answer.text[:100]}"
    session.system.settle()
    lines = ((line["event"], line) for line in session.system.logs)
    yield from (f"{seeds[0]} and the next: {broken}" for broken in verdict.of_log(lines))


def _code(answer: http.Response) -> object:
    if answer.request.method == "HEAD":
        return "INVALID_REQUEST"  # an answer without a body
    return answer.json()["error"]["code"]


def _is_an_event(headers: Mapping[str, str]) -> bool:
    needed = ("ce-id", "ce-type", "ce-source", "ce-specversion")
    return headers["content-type"] == PROTOBUF and all(headers.get(name, "").strip() for name in needed)


def _header(value: object) -> str:
    return "".join(letter if 33 <= ord(letter) < 127 else "%20" for letter in str(value))


# --- the batteries ------------------------------------------------------------------------------------------


def together(
    name: str, some: Callable[[Session, list[str]], Iterator[str]], at_once: int = TOGETHER
) -> Callable[[Order], Outcome]:
    def run(order: Order) -> Outcome:
        violations: list[str] = []
        done, progress = 0, Progress(name, order.cases)
        with a_system() as system:
            session = Session(system)
            while done < order.cases and not order.time_is_up:
                seeds = [f"{order.seed}/{number}" for number in range(done, min(order.cases, done + at_once))]
                violations += [f"{name} {broken}" for broken in dict.fromkeys(some(session, seeds))]
                done += len(seeds)
                progress.tell(done, len(violations))
        return Outcome(name, done, done, tuple(violations))

    return run


BATTERIES = (
    Battery(
        "bad input on the wire: run documents", 1_000, 2.0, together("bad input on the wire: run documents", documents)
    ),
    Battery("bad input on the wire: artifacts", 400, 2.0, together("bad input on the wire: artifacts", material, 1)),
    Battery("bad input on the wire: events", 600, 1.0, together("bad input on the wire: events", events, 50)),
    Battery("bad input on the wire: requests", 1_000, 0.5, together("bad input on the wire: requests", calls, 100)),
)
