"""That hypothesis makes good cases: of every kind enough, and each again from its seed."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from emulator.firestore.errors import Refused
from flowcore.testing.builders import CHARTS, REPORT, RUN_ID
from tests.chaos.battery import Order
from tests.chaos.inputs import healthy, requests, twins, verdict, wire
from tests.chaos.inputs.documents import Strange, hostile_ids, strange
from tests.chaos.inputs.drawing import block
from tests.chaos.inputs.events import understood
from tests.chaos.inputs.material import Prepared, strange_material
from tests.chaos.inputs.stage import Stage
from tests.chaos.inputs.stocked import prepared
from tests.chaos.inputs.twin import encoded
from tests.chaos.inputs.verdict import Judged

LEAST = {  # of all events
    "a document to decide on": 0.4,
    "no document: it is read": 0.15,
    "other_collection": 0.02,
    "event_type_filtered": 0.02,
    "invalid_subject": 0.01,
    "invalid_run_id": 0.0,
}


def test_a_seed_is_the_same_documents_every_time() -> None:
    first, again = (
        [encoded("x", case.value.document).SerializeToString(deterministic=True) for case in block(strange, "1/0", 40)]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first)) > 35


def test_a_block_holds_as_many_cases_as_were_asked_for() -> None:
    """What hypothesis leaves unfinished is made up for."""
    for make in (strange, strange_material, twins.disturbed, requests.strange_call):
        assert len(block(make, "1/0", 30)) == 30


def test_strange_documents_come_to_every_end() -> None:
    """Else the battery would be one case, many times."""
    ends = set()
    for case in block(strange, "2/0", 100):
        stage, odd = Stage(), case.value
        prepared(stage)
        unfinished = odd.document.get("status") not in verdict.TERMINAL
        if unfinished and odd.run_id == RUN_ID and len(str(odd.document)) < 50_000:
            with suppress(Refused):
                stage.play(odd.run_id, odd.document)
                ends.add(stage.runs.kept[RUN_ID].snapshot.document["status"])
    assert ends == {"SUCCEEDED", "FAILED", "CANCELLED"}


def test_strange_events_are_understood_in_every_way() -> None:
    """Most of them so far that somebody decides on what is inside; and of each other kind there are some."""
    made = [
        event for number in range(3) for case in block(twins.disturbed, f"2/{number}") for event in case.value.events
    ]
    share = {what: count / len(made) for what, count in Counter(map(understood, made)).items()}
    assert share.keys() == {*LEAST}
    assert {what: part for what, part in share.items() if part < LEAST[what]} == {}


def test_most_events_on_the_wire_get_past_the_framework() -> None:
    made = [wire.is_an_event(case.value.headers) for case in block(wire.posted, "2/0")]
    assert sum(made) > len(made) / 2


def test_odd_names_of_steps_become_names_of_objects() -> None:
    odd = 0
    for case in block(hostile_ids, "2/0", 60):
        stage = Stage()
        prepared(stage)
        there = set(stage.artifacts.objects)
        with suppress(Refused):
            stage.play(RUN_ID, case.value)
        made = set(stage.artifacts.objects) - there
        assert [*verdict.of_objects(RUN_ID, made)] == []
        odd += any(CHARTS not in name and REPORT not in name and "/ohlcv/" not in name for name in made)
    assert odd > 25


def test_requests_are_answered_in_every_way() -> None:
    made = block(requests.strange_call, "2/0")
    endings = Counter(ending for case in made for ending in requests.started(case.value).endings)
    assert endings["a run"] > 5
    assert endings["FLOW_DEFINITION_INVALID"] > 5
    assert endings["INVALID_REQUEST"] > 20


def test_a_violation_is_told_with_the_smallest_case_like_it() -> None:
    def judge(odd: Strange) -> Judged:
        return Judged((), () if isinstance(odd.document.get("steps"), dict) else ("steps are no map",))

    outcome = twins.Kind("documents", strange, judge).run(Order(seed=1, cases=100, ends=time.monotonic() + 60))
    told = [violation for violation in outcome.violations if "the smallest like it is" in violation]
    assert outcome.cases == 100
    assert len(told) == 1
    assert len(told[0]) < 200


def test_what_is_in_order_is_no_fault() -> None:
    call = requests.Call(requests.DEFINITION, {"method": "POST", "data": b"", "headers": {}}, plays=False)
    assert call.odd
    assert not replace(call, wanted=requests.SOUND).odd
    assert not Strange(RUN_ID, healthy.a_market_run(), events=True).odd
    assert Strange(RUN_ID, {**healthy.a_market_run(), "status": 7}, events=True).odd
    stage = Stage()
    prepared(stage)
    assert not Prepared(stage, healthy.only_the_report()).odd
    stage.shelf.fields[healthy.PROMPT_PATH] = {}
    assert Prepared(stage, healthy.only_the_report()).odd
