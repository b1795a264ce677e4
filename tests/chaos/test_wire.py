"""The batteries on the wire, a handful of cases each, on one platform; `make chaos` runs them whole."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from statistics import mode

import pytest

from flowcore.adapters.cloud_log import JsonLog
from flowcore.domain.errors import Code, NetworkError
from tests.chaos.battery import Order, Outcome, Progress
from tests.chaos.transitions import changed_steps
from tests.chaos.wire.arena import MARGIN, Arena, opened
from tests.chaos.wire.batteries import killed
from tests.chaos.wire.cases import Case, judged
from tests.chaos.wire.dropped import ORCHESTRATOR, dropped
from tests.chaos.wire.matrix import every_point, further_points, pairs, shared_pairs
from tests.chaos.wire.operator import Act
from tests.chaos.wire.points import KINDS, Loss, Point, Trouble, Weather
from tests.chaos.wire.storms import a_storm, clocks, outages
from tests.chaos.wire.tally import Tally
from tests.chaos.wire.tracing import Undisturbed
from tests.chaos.wire.verdict import Ending, judge, marked, wrong_objects

CANCELLED = Case("cancelled", (), same_ending=False, acts=(Act("cancel", 2, 0),))
UNKNOWN = Undisturbed(Ending("", (), ()), (), (), ())
REPEATED = Case("repeated", (Weather("triplicate", 1.0, 1),))


def broken_on_purpose() -> tuple[str, ...]:
    """What is found out about a heedless worker and a sweep that does nothing, on platforms of their own."""
    report = "artifacts/runs/{run}/reports/1M/llm_report_1M_review_v1.json"
    stored = Point("storage", "objects.insert", report, 0)
    heedless = Case("heedless", (Trouble(stored, "dies after"),), same_ending=False, strikes=1)
    with opened(instead={"worker_llm_report": "heedless"}) as arena:
        found = _judged(arena, [heedless], UNKNOWN).violations
    with opened(instead={"sweep": "sweep_off"}) as arena:
        abandoned = Case("abandoned", (Trouble(stored, "dies before"),), strikes=1)
        return found + _judged(arena, [abandoned, Case("forgotten", (ORCHESTRATOR,))], UNKNOWN).violations


@pytest.fixture(scope="module", autouse=True)
def found_out() -> Iterator[Future[tuple[str, ...]]]:
    """In a process of its own, beside everything else: it mostly waits, too."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool.submit(broken_on_purpose)


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with opened() as arena:
        yield arena


@pytest.fixture(scope="module")
def undisturbed(arena: Arena) -> Undisturbed:
    return Undisturbed.traced(arena)


def test_the_points_are_the_calls_of_every_function(undisturbed: Undisturbed) -> None:
    services = {point.service for point in undisturbed.points}
    assert services == {"firestore", "storage", "bigquery", "gemini"}
    begun = ["BatchGetDocuments flow_runs/{run} #0", "BatchGetDocuments flow_definitions/chaos_v1 #0"]  # by start_flow
    assert [f"firestore {call}" for call in (*begun, "Commit flow_runs/{run} #0")] == [
        *map(str, undisturbed.points[:3])
    ]
    assert [point.nth for point in undisturbed.swept if point.of_sweep] == [0, 1, 2]  # due, new, and unfinished runs
    assert Point("firestore", "Commit", "flow_runs/{run}", 1) in undisturbed.swept


def test_the_matrix_has_every_point_with_every_trouble(undisturbed: Undisturbed) -> None:
    cases = every_point(undisturbed, _order(10_000))
    places = len(undisturbed.points) + len(undisturbed.swept) + len(undisturbed.cold)
    assert len({case.problems for case in cases}) == len(cases) == places * len(KINDS)
    assert all(
        case.strikes == (2 if len(case.problems) == 2 and case.problems[0] != ORCHESTRATOR else 1) for case in cases
    )


def test_of_the_long_flow_only_what_is_new_is_disturbed(undisturbed: Undisturbed) -> None:
    bought = Point("chart_img", "AdvancedChart", "BINANCE:BTCUSDT", 0)
    renamed = [point._replace(resource=point.resource.replace("1M", "1h")) for point in undisturbed.points]
    cases = further_points(replace(undisturbed, points=(*renamed, bought)), undisturbed, _order(10_000))
    assert sorted(case.problems for case in cases) == sorted((Trouble(bought, kind),) for kind in KINDS)


@pytest.fixture(scope="module")
def played(arena: Arena, undisturbed: Undisturbed) -> Outcome:
    """All of these at once: most of the time they wait."""
    return _judged(
        arena, [*_disturbed(undisturbed), *dropped(undisturbed, _order(3)), CANCELLED, REPEATED], undisturbed
    )


def test_a_run_ends_as_if_nothing_had_happened(arena: Arena, undisturbed: Undisturbed, played: Outcome) -> None:
    assert played.violations == ()
    assert played.faults_fired >= len(_disturbed(undisturbed))
    fired = {(record.service, record.method) for record in arena.book.records if "fault" in record.detail}
    assert fired >= {("firestore", "Commit"), ("storage", "objects.insert"), ("gemini", "generateContent")}
    assert all(arena.book.life(case.run_id).document["status"] == "SUCCEEDED" for case in _disturbed(undisturbed))


def test_the_lease_of_a_dead_worker_is_ended_by_sweep(arena: Arena, undisturbed: Undisturbed, played: Outcome) -> None:
    """By the function, at its time, and not by our own clock."""
    assert played.violations == ()
    dead = next(case for case in _disturbed(undisturbed) if case.problems[0].kind == "dies before")
    ended = [
        record.detail["ahead"]
        for record in marked(arena)
        if record.kind == "write" and dead.run_id in record.resource and record.detail["before"]
        for _, old, new in changed_steps(record.detail["before"], record.detail["after"])
        if (old["status"], new["status"]) == ("RUNNING", "READY")
    ]
    assert {*ended} == {False}


def test_a_run_that_ends_otherwise_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    """Also in a storm, if nothing is worse there than the delay of an event."""
    objects = undisturbed.ending.objects
    spoiled = (*objects[:-1], objects[-1]._replace(content="another hash"))
    another = replace(undisturbed, ending=replace(undisturbed.ending, objects=spoiled))
    late = Case("late", (Weather("delay", 1.0, 1),), same_ending=False)
    about = {law.partition(" ")[0]: law for law in _judged(arena, [Case("as-always", ()), late], another).violations}
    assert ["another hash" in law for law in about.values()] == [True, True]
    assert "the worst that happened was a delay" in about[late.again.again.key]


def test_a_loss_of_nothing_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    outcome = _judged(arena, [Case("kept", (Loss("nobody"),))], undisturbed)
    assert ["nothing was lost" in law for law in outcome.violations] == [True]


def test_a_fault_that_never_strikes_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    """The case is played again, at last alone, before anybody complains."""
    nowhere = Trouble(Point("storage", "objects.get", "artifacts/runs/{run}/nowhere", 0), "is told 503 by")
    tally = _tallied(arena, [Case("never", (nowhere,), strikes=1)], undisturbed)
    assert (tally.faults.total(), tally.again) == (0, 1)
    assert ["its fault never struck" in law for law in tally.violations] == [True]


def test_a_worker_that_does_not_heed_what_it_finds_is_caught(found_out: Future[tuple[str, ...]]) -> None:
    """It dies when its report is stored, and the next one asks the model again although the report is there."""
    about = [law for law in found_out.result() if law.startswith("heedless ")]
    assert ["asked 2 times; 1 calls were due" in law for law in about] == [True]


@pytest.mark.parametrize("case", ["forgotten", "abandoned"])
def test_a_sweep_that_does_nothing_is_caught(found_out: Future[tuple[str, ...]], case: str) -> None:
    """The orchestrator's events are lost, or a worker is dead, and our own clock does not make up for it."""
    assert any(law.startswith(f"{case} ") and "sweep passes over it" in law for law in found_out.result())


def test_with_events_lost_sweep_finishes_every_run(arena: Arena, undisturbed: Undisturbed, played: Outcome) -> None:
    assert played.violations == ()
    ends = [arena.book.life(case.run_id).document["status"] for case in dropped(undisturbed, _order(3))]
    assert ends == ["FAILED", "SUCCEEDED", "SUCCEEDED"]


def test_somebody_who_cancels_in_the_middle_breaks_nothing(arena: Arena, played: Outcome) -> None:
    assert played.violations == ()
    document = arena.book.life(CANCELLED.run_id).document
    assert (document["cancelRequested"], document["status"]) == (True, "CANCELLED")


def test_an_event_may_come_three_times(arena: Arena, played: Outcome) -> None:
    assert played.violations == ()
    about = [record for record in arena.book.records if record.kind == "event" and REPEATED.run_id in record.resource]
    # But for those that failed and came again, and the last ones, when the run was over and so was its weather.
    assert mode(Counter((record.method, record.detail["id"]) for record in about).values()) == 3


def test_storms_and_the_end_of_the_platform_break_nothing(arena: Arena, undisturbed: Undisturbed) -> None:
    cases = [a_storm(undisturbed.points, 8, number) for number in range(3)]
    before = arena.outages
    with killed(arena, [150]):
        outcome = _judged(arena, cases, undisturbed)
    assert outcome.violations == ()
    assert outcome.faults_fired > 1
    assert (arena.outages, arena.home.lives) == (before + 1, before + 2)


def test_a_seed_is_the_same_trouble_every_time(undisturbed: Undisturbed) -> None:
    for draw in (every_point, pairs, shared_pairs, dropped):
        assert draw(undisturbed, _order(20)) == draw(undisturbed, _order(20))
    assert a_storm(undisturbed.points, 1, 2) == a_storm(undisturbed.points, 1, 2)
    assert outages(1, 2, 200, 3) == outages(1, 2, 200, 3)
    assert clocks(1, 2) == clocks(1, 2)


def test_clocks_differ_by_no_more_than_the_margin() -> None:
    for season in range(50):
        ahead = clocks(1, season).values()
        assert max(ahead) - min(ahead) <= MARGIN


def test_a_crash_in_the_log_of_a_function_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    """One that the engine catches and survives, with nothing else to see."""
    run_id = Case("as-always", ()).run_id
    with (arena.home.folder / "log" / "worker_charts.log").open("a") as log:
        said = JsonLog(lambda line: print(line, file=log), lambda: datetime.now(UTC)).bind(run_id=run_id)
        said.error("finalize_failed", exc_info=NetworkError(Code.FIRESTORE_UNAVAILABLE, "no reply"))
        said.error("finalize_failed", exc_info=KeyError("status"))
    laws = [law.partition("{")[0] for of_one in judge(arena).values() for law in of_one]
    assert laws == [f"worker_charts {run_id}: finalize_failed: "]


def test_an_object_that_is_not_what_it_says_is_noticed(arena: Arena, undisturbed: Undisturbed) -> None:
    """The last of these tests: nobody else can use an arena in which somebody wrote over objects."""
    run_id = Case("as-always", ()).run_id
    arena.world.storage.bucket(arena.world.bucket).blob(f"runs/{run_id}/ohlcv/1M.json").upload_from_string(b"[]")
    assert [f"runs/{run_id}/ohlcv/1M.json" in law for law in wrong_objects(arena, run_id)] == [True]


def _judged(arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed) -> Outcome:
    return _tallied(arena, cases, undisturbed).outcome()


def _tallied(arena: Arena, cases: Sequence[Case], undisturbed: Undisturbed) -> Tally:
    tally = Tally(Progress("wire", len(cases)))
    judged(arena, cases, undisturbed, _order(len(cases)), tally, at_once=len(cases))
    return tally


def _disturbed(undisturbed: Undisturbed) -> list[Case]:
    """The begin of a run, objects of steps, and the paid call, under every kind of trouble that takes no waiting."""
    troubles = [
        Trouble(_point(undisturbed, "objects.insert", "ohlcv"), "dies after"),
        Trouble(_point(undisturbed, "Commit", "flow_runs"), "loses the reply of"),
        Trouble(_point(undisturbed, "objects.insert", "manifest"), "dies before"),
        Trouble(_point(undisturbed, "generateContent", "gemini"), "is told 503, although done, by"),
    ]
    return [Case(f"disturbed-{number}", (trouble,), strikes=1) for number, trouble in enumerate(troubles)]


def _point(undisturbed: Undisturbed, method: str, about: str) -> Point:
    return next(point for point in undisturbed.points if point.method == method and about in point.resource)


def _order(cases: int) -> Order:
    return Order(seed=8, cases=cases, ends=time.monotonic() + 60)
