"""Bad input in volume: the project's own parsing, planning and workers, on twins of the stores and of the model.

No process, no port: what is left is what decides. The same kinds of input go through the real clients and the real
platform in `wire`, in smaller numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emulator.firestore.errors import Refused
from flowcore.testing.builders import RUN_ID
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.inputs import healthy, requests, verdict
from tests.chaos.inputs.documents import strange
from tests.chaos.inputs.events import SUBJECT, TYPE, strange_event
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.material import strange_material
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared

Case = Callable[[Hostile], Iterator[str]]


def a_document(hostile: Hostile) -> Iterator[str]:
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    odd = strange(hostile)
    events = "status" not in odd.document or hostile.likely(0.9)  # else it is all up to sweep
    stage.play(odd.run_id, odd.document, events=events)
    yield from _verdict(stage, odd.run_id, odd.document, there)


def some_material(hostile: Hostile) -> Iterator[str]:
    stage = Stage()
    run = strange_material(hostile, stage)
    there = set(stage.artifacts.objects)
    stage.play(RUN_ID, run)
    yield from _verdict(stage, RUN_ID, run, there)


def an_event(hostile: Hostile) -> Iterator[str]:
    """It comes before, between and after the good ones of a run, and of another run that is not to be touched."""
    stage = Stage()
    prepared(stage)
    there = set(stage.artifacts.objects)
    run = hostile.one((healthy.a_market_run, healthy.only_the_report, healthy.only_the_charts))()
    bystander = {**healthy.a_market_run("SUCCEEDED"), "runId": "bystander"}
    stage.runs.put("bystander", bystander)
    stage.heard = len(stage.runs.changes)
    stage.runs.put(RUN_ID, run)
    for _ in range(hostile.chance.randrange(1, 4)):
        odd = strange_event(hostile, hostile.one((run, {}, strange(hostile).document)))
        stage.deliver(odd.attributes, odd.data)
    stage.deliver({"id": "e-2", "type": TYPE, "subject": SUBJECT}, None)
    stage.play(RUN_ID, run)
    yield from _verdict(stage, RUN_ID, run, there)
    if stage.runs.kept["bystander"].snapshot.document != bystander:
        yield "another run was written"


def a_request(hostile: Hostile) -> Iterator[str]:
    yield from requests.started(hostile, Stage())


def _verdict(stage: Stage, run_id: str, before: dict[str, object], there: set[str]) -> Iterator[str]:
    yield from stage.broken
    yield from verdict.of_run(run_id, before, stage.runs.kept[run_id].snapshot.document)
    yield from verdict.of_objects(run_id, set(stage.artifacts.objects) - there)
    yield from verdict.of_log((event, fields) for _, event, fields in stage.log.lines)
    if stage.shelf.writes:
        yield "a document of the operators was written"


def each(name: str, case: Case) -> Callable[[Order], Outcome]:
    """The battery of one kind of case. What Firestore itself would refuse is no case: the next draw is."""

    def run(order: Order) -> Outcome:
        violations: list[str] = []
        done, progress = 0, Progress(name, order.cases)
        for number in range(order.cases):
            if order.time_is_up:
                break
            seed = f"{order.seed}/{number}"
            violations += [f"{name} {seed}: {broken}" for broken in _broken(case, seed)]
            done += 1
            progress.tell(done, len(violations))
        return Outcome(name, done, done, tuple(violations))

    return run


def _broken(case: Case, seed: str) -> list[str]:
    for draw in range(50):
        try:
            return list(dict.fromkeys(case(Hostile(f"{seed}/{draw}" if draw else seed))))
        except Refused:
            continue
    raise AssertionError(f"{seed}: nothing but what Firestore refuses")


DOCUMENTS = Battery("bad input: run documents", 9_000, 4.0, each("bad input: run documents", a_document))
EVENTS = Battery("bad input: events", 3_000, 2.0, each("bad input: events", an_event))
MATERIAL = Battery("bad input: artifacts", 7_000, 5.0, each("bad input: artifacts", some_material))
REQUESTS = Battery("bad input: requests", 5_000, 0.5, each("bad input: requests", a_request))
BATTERIES = (DOCUMENTS, EVENTS, MATERIAL, REQUESTS)
