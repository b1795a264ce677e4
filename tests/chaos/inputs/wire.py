"""Bad input through the real thing: real clients, real events, the functions under functions-framework, the platform.

What the twins cannot show is shown here: what the client libraries and the framework make of it, and that no answer to
an event is a failure (the platform would deliver it again, for a day).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

import requests as http
from google.api_core.exceptions import GoogleAPICallError

from flowcore.domain.errors import REGISTRY
from flowcore.domain.times import to_text
from flowcore.testing.builders import OHLCV, RUN_ID
from tests.chaos.battery import Battery, Order, Outcome, Progress, listed
from tests.chaos.inputs import healthy, requests
from tests.chaos.inputs.documents import Strange, strange
from tests.chaos.inputs.drawing import Case, block, cases
from tests.chaos.inputs.events import ANOTHER, strange_event
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.material import Prepared, strange_material
from tests.chaos.inputs.session import Session, a_system
from tests.chaos.inputs.stocked import finished

T = TypeVar("T")
RUN_FUNCTIONS: Final = ("advance_flow", "worker_ohlcv_export", "worker_charts", "worker_llm_report")
PROTOBUF: Final = "application/protobuf"


# --- run documents ------------------------------------------------------------------------------------------


def documents(session: Session, some: Sequence[Case[Strange]]) -> Iterator[str]:
    """Several documents at once: they have nothing to do with each other, and waiting is what takes the time."""
    session.renew()
    there = set(session.system.objects())
    before: dict[str, dict[str, Any]] = {}
    came_from: dict[str, str] = {}
    for number, case in enumerate(some):
        odd = case.value
        run_id = f"r{number}" if odd.run_id == RUN_ID else f"{odd.run_id[:1300]}{number}"
        own = {**odd.document, "runId": run_id} if odd.document.get("runId") == odd.run_id else odd.document
        if session.written(run_id, own):
            session.count(odd=odd.odd)
            before[run_id], came_from[run_id] = own, case.name
    session.played_out(before)
    for run_id, document in before.items():
        yield from (f"{came_from[run_id]}: {broken}" for broken in session.judged(run_id, document))
    yield from (f"{some[0].name} and the next: {broken}" for broken in session.broken(list(before), there))


# --- artifacts ----------------------------------------------------------------------------------------------


def material(session: Session, some: Sequence[Case[Prepared]]) -> Iterator[str]:
    for case in some:
        recipe, run = case.value.stage, case.value.run
        is_odd = case.value.odd
        texts = [recipe.answer(None).text for _ in range(2)]  # type: ignore[arg-type]  # it is what the case says
        try:
            session.renew(recipe)
        except (GoogleAPICallError, ValueError, TypeError):
            continue  # no client stores this
        for text in texts:
            session.system.platform.gemini.script.say(text or "")
        there = set(session.system.objects())
        if session.written(RUN_ID, run):
            session.count(odd=is_odd)
            session.played_out({RUN_ID: run})
            yield from (f"{case.name}: {broken}" for broken in session.judged(RUN_ID, run))
            yield from (f"{case.name}: {broken}" for broken in session.broken([RUN_ID], there))


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Posted:
    """An event as it travels."""

    headers: dict[str, str]
    body: bytes
    odd: bool


def posted(hostile: Hostile) -> Posted:
    told = hostile.one((None, healthy.a_market_run(), {}))
    event = strange_event(hostile, strange(hostile).document if told is None else told)
    headers = {f"ce-{name}": _header(value) for name, value in event.attributes.items()}
    about = {"ce-specversion": "1.0", "ce-source": "//firestore"} if hostile.likely(0.95) else {}
    kind = hostile.one((*[PROTOBUF] * 12, "application/json", "application/cloudevents+json", ""))
    body = event.data if isinstance(event.data, bytes) else str(event.data or "").encode()
    return Posted({**headers, **about, "content-type": kind}, body, event.odd or not about or kind != PROTOBUF)


def events(session: Session, some: Sequence[Case[Posted]]) -> Iterator[str]:
    """They come while a run in order waits for its time, and it is to end as if they had not."""
    session.renew()
    session.system.put(f"flow_runs/{ANOTHER}", finished(ANOTHER))
    session.system.settle()
    session.system.faults.history.clear()
    there, run = set(session.system.objects()), healthy.a_market_run()
    run["steps"][OHLCV]["notBefore"] = to_text(session.system.clock.now() + timedelta(minutes=10))
    session.written(RUN_ID, run)
    session.system.settle()
    for case in some:
        for function in RUN_FUNCTIONS:
            said = len(session.system.lines)
            answer = session.system.call(function, data=case.value.body, headers=case.value.headers)
            # What is no CloudEvent in binary mode the framework refuses by itself, in whichever way: no line of ours.
            ours = len(session.system.lines) > said or is_an_event(case.value.headers)
            if ours and answer.status_code != 200:
                yield f"{case.name}: {function} answered {answer.status_code} to {case.value.headers!r:.200}"
            session.endings[f"{answer.status_code}{'' if ours else ' by the framework'}"] += 1
        session.count(odd=case.value.odd)
    session.played_out({RUN_ID: run})
    status = session.document(RUN_ID).get("status")
    if status != "SUCCEEDED":
        yield f"{some[0].name} and the next: a run in order ended {status!r:.60}"
    yield from (f"{some[0].name} and the next: {broken}" for broken in session.broken([RUN_ID], there))


def is_an_event(headers: Mapping[str, str]) -> bool:
    needed = ("ce-id", "ce-type", "ce-source", "ce-specversion")
    return headers["content-type"] == PROTOBUF and all(headers.get(name, "").strip() for name in needed)


def _header(value: object) -> str:
    return "".join(letter if 33 <= ord(letter) < 127 else "%20" for letter in str(value))


# --- requests -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """`query` is the end of the address."""

    function: str
    query: str
    wanted: dict[str, Any]

    @property
    def odd(self) -> bool:
        return bool(self.query) or requests.is_odd(self.wanted)


def asked(hostile: Hostile) -> Asked:
    wanted = requests.strange_request(hostile)
    wanted["headers"] = {name: value for name, value in wanted["headers"].items() if value}
    function = hostile.one(("start_flow", "start_flow", "start_flow", "sweep"))
    query = hostile.one(("", "?every_run=1", "?every_run=true", f"?every_run={'x' * 3000}", "?%00=%ff", "?a=1&a=2"))
    return Asked(function, query, wanted)


def calls(session: Session, some: Sequence[Case[Asked]]) -> Iterator[str]:
    """Whatever is written is a run that was asked for, and what a run leaves behind."""
    session.renew()
    session.system.put(f"flow_definitions/{requests.FLOW}", requests.DEFINITION)
    session.system.settle()
    session.system.faults.history.clear()
    there, started = set(session.system.objects()), []
    for case in some:
        function, wanted = case.value.function, case.value.wanted
        try:
            url = f"{session.system.url}/{function}/{case.value.query}"
            answer = http.request(url=url, timeout=30, **wanted)
        except UnicodeError:
            continue  # the client itself cannot send it
        session.count(odd=case.value.odd)
        session.endings[f"{answer.status_code}"] += 1
        if answer.status_code >= 500:
            yield f"{case.name}: {function} answered {answer.status_code} to {wanted!r:.200}"
        elif function == "start_flow" and answer.ok:
            started.append(str(answer.json()["runId"]))
        elif function == "start_flow" and _code(answer) not in REGISTRY:
            yield f"{case.name}: an answer without a code: {answer.text[:100]}"
    session.system.settle()
    yield from (f"{some[0].name} and the next: {broken}" for broken in session.broken(started, there))


def _code(answer: http.Response) -> object:
    if answer.request.method == "HEAD":
        return "INVALID_REQUEST"  # an answer without a body
    return answer.json()["error"]["code"]


# --- the batteries ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """`at_once`: cases between two cleanings."""

    name: str
    make: Callable[[Hostile], T]
    play: Callable[[Session, Sequence[Case[T]]], Iterator[str]]
    at_once: int

    def run(self, order: Order) -> Outcome:
        with a_system() as system:
            return self.played(Session(system), order)

    def played(self, session: Session, order: Order) -> Outcome:
        """What no client takes is no case: it is not counted, and the next one is drawn."""
        violations: list[str] = []
        before, odd_before = session.delivered, session.odd
        session.endings.clear()
        progress = Progress(self.name, order.cases)
        for made in cases(self.make, order.seed, order.cases):
            for first in range(0, len(made), self.at_once):
                done = session.delivered - before
                if done >= order.cases or order.time_is_up:
                    fired, figures = session.odd - odd_before, (listed(session.endings),)
                    return Outcome(self.name, done, fired, tuple(violations), figures)
                some = made[first : first + self.at_once][: order.cases - done]
                violations += [f"{self.name} {broken}" for broken in dict.fromkeys(self.play(session, some))]
                progress.tell(done, len(violations))
        raise AssertionError("blocks have no end")

    def again(self, name: str) -> Iterator[str]:
        """With those that were played together with it, if it was the first of them."""
        seed, _, number = name.rpartition("/")
        some = block(self.make, seed)[int(number) :][: self.at_once]
        yield str(some[0].value)
        with a_system() as system:
            yield from self.play(Session(system), some)

    def battery(self, cases: int, share: float) -> Battery:
        return Battery(self.name, cases, share, self.run)


DOCUMENTS = Kind("bad input on the wire: run documents", strange, documents, 20)
MATERIAL = Kind("bad input on the wire: artifacts", strange_material, material, 1)
EVENTS = Kind("bad input on the wire: events", posted, events, 50)
REQUESTS = Kind("bad input on the wire: requests", asked, calls, 100)
KINDS: Final = (DOCUMENTS, MATERIAL, EVENTS, REQUESTS)
BATTERIES = (
    DOCUMENTS.battery(1_000, 3.0),
    MATERIAL.battery(400, 1.5),
    EVENTS.battery(600, 1.5),
    REQUESTS.battery(1_000, 0.5),
)
