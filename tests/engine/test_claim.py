"""Taking a step: one winner, no read, and nothing done before the claim is written."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from flowcore.domain.errors import Code, NetworkError
from flowcore.domain.model import StepStatus
from flowcore.domain.patch import Patch
from flowcore.ports import Conflict
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step
from tests.engine.stage import Denied, Stage, event_of, report_ready, report_running, unavailable, without_payload

HEATMAPS = a_run(steps={"zeta": a_step("HEATMAP", "READY"), "alpha": a_step("HEATMAP", "READY")})


def test_loser_of_a_race_pays_for_nothing() -> None:  # B2
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", lambda: stage.worker().handle(event))
    stage.worker().handle(event)
    assert stage.provider.calls == 1
    assert stage.step().attempt == 1
    assert stage.step().status is StepStatus.SUCCEEDED
    assert "ERROR" not in [severity for severity, _, _ in stage.log.lines]


def test_loser_of_a_race_leaves_the_winner_at_work() -> None:  # B2
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", lambda: stage.put(report_running()))
    stage.worker().handle(event)
    assert stage.provider.calls == 0
    assert stage.document == report_running()
    assert stage.calls() == {"update": 1, "get": 1, "find": 1}


@pytest.mark.parametrize("luck", [0.0, 0.25, 0.999])
def test_endless_conflict_ends_without_a_claim(luck: float) -> None:  # B3
    stage = Stage()
    stage.chance.fortune = luck
    event = stage.put(report_ready())
    stage.meddle_for_ever()
    stage.worker().handle(event)
    assert stage.calls() == {"update": 4, "get": 3}
    first, *later = stage.clock.slept
    assert first <= 0.01
    assert all(0.1 <= delay <= 0.5 for delay in later)
    assert stage.step().status is StepStatus.READY
    assert stage.provider.calls == 0
    assert stage.log.last("event_noop")["code"] == Code.STEP_CLAIM_CONFLICT


def test_delays_of_a_claim_are_jittered() -> None:  # B3
    slept = set()
    for luck in (0.1, 0.9):
        stage = Stage()
        stage.chance.fortune = luck
        event = stage.put(report_ready())
        stage.meddle_for_ever()
        stage.worker().handle(event)
        slept.add(tuple(stage.clock.slept))
    assert len(slept) == 2


def test_claim_survives_an_unrelated_write() -> None:  # B4
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", stage.meddle)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED
    assert stage.provider.calls == 1


@pytest.mark.parametrize(
    "news",
    [{"status": "CANCELLED"}, {"cancelRequested": True}, {"status": "FAILED"}],
    ids=["by hand", "flag", "failed"],
)
def test_run_that_is_not_wanted_any_more_takes_no_claim(news: dict[str, object]) -> None:  # B5
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", lambda: stage.meddle(**news))
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.READY
    assert stage.provider.calls == 0


@pytest.mark.parametrize("status", ["FAILED", "SKIPPED", "RUNNING", "PENDING"])
def test_dependency_that_leaves_succeeded_takes_the_claim_away(status: str) -> None:  # B6
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.before_next("update", lambda: stage.move(CHARTS, status=status))
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.READY
    assert stage.provider.calls == 0
    assert stage.log.last("event_noop")["code"] == Code.DEPENDENCY_NOT_SUCCEEDED


def test_refused_claim_fails_the_invocation_without_side_effects() -> None:  # B7
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.break_next("update", Denied())
    with pytest.raises(Denied):
        stage.worker().handle(event)
    assert stage.log.last("claim_failed")["code"] == Code.FIRESTORE_CLAIM_FAILED
    assert stage.document == report_ready()
    assert stage.calls() == {"update": 1}
    assert stage.provider.calls == 0


@pytest.mark.parametrize("step_type", ["LLM_REPORT", "CHART_EXPORT", "SOMETHING_ELSE"])
def test_delivery_that_is_not_for_us_costs_no_call(step_type: str) -> None:  # B9, B11
    stage = Stage()
    event = stage.put(a_run(ohlcv="READY"))
    stage.worker(step_type).handle(event)
    assert stage.calls() == {}
    assert stage.log.last("event_noop")["code"] == Code.NO_READY_STEP


def test_claim_makes_no_read() -> None:
    stage = Stage()
    stage.worker().handle(stage.put(report_ready()))
    assert stage.calls() == {"update": 2, "find": 1, "create": 1}


def test_event_without_payload_costs_one_read() -> None:
    stage = Stage()
    stage.worker().handle(without_payload(stage.put(report_ready())))
    assert stage.calls() == {"get": 1, "update": 2, "find": 1, "create": 1}


def test_missing_document_is_ignored() -> None:
    stage = Stage()
    stage.worker().handle(event_of(None))
    assert stage.calls() == {"get": 1}
    assert stage.log.last("event_ignored")["code"] == Code.FLOW_RUN_NOT_FOUND


def test_one_delivery_takes_the_first_step_and_its_event_brings_the_next() -> None:  # B10
    stage = Stage()
    worker = stage.worker("HEATMAP")
    worker.handle(stage.put(HEATMAPS))
    assert (stage.step("alpha").status, stage.step("zeta").status) == (StepStatus.SUCCEEDED, StepStatus.READY)
    stage.deliver_all([worker], start=1)
    assert stage.step("zeta").status is StepStatus.SUCCEEDED
    assert stage.provider.calls == 2


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"])
def test_step_that_is_not_ready_costs_no_call(status: str) -> None:  # B12
    stage = Stage()
    event = stage.put(a_run(ohlcv="SUCCEEDED", charts="SUCCEEDED", report=status))
    stage.worker().handle(event)
    assert stage.calls() == {}
    assert len(stage.runs.changes) == 1


def test_claim_whose_reply_was_lost_is_recognised() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    fault = stage.runs.wire.break_next("update", unavailable(), after_effect=True)
    stage.worker().handle(event)
    assert fault.fired == 1
    assert stage.step().attempt == 1
    assert stage.provider.calls == 1
    assert stage.step().status is StepStatus.SUCCEEDED


def test_silent_firestore_before_the_claim_fails_the_invocation() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.break_next("update", unavailable(), times=1000)
    with pytest.raises(NetworkError):
        stage.worker().handle(event)
    assert stage.provider.calls == 0
    assert stage.document == report_ready()
    assert stage.calls() == {"update": 5, "get": 4}
    assert stage.log.last("claim_failed")["code"] == Code.FIRESTORE_UNAVAILABLE


def test_silence_and_lost_races_are_counted_apart() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.runs.wire.break_next("update", unavailable(), times=3)
    for _ in range(6):  # the first three meet silence, the next three lose their race
        stage.runs.wire.before_next("update", stage.meddle)
    stage.worker().handle(event)
    assert stage.step().status is StepStatus.SUCCEEDED


def test_nothing_is_done_before_the_claim_is_written() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    stage.artifacts.wire.before_next("find", lambda: seen.append(stage.step().status))
    seen: list[StepStatus] = []
    stage.provider.meanwhile = lambda: seen.append(stage.step().status)
    stage.worker().handle(event)
    assert seen == [StepStatus.RUNNING, StepStatus.RUNNING]


def test_unknown_fields_are_neither_read_nor_lost() -> None:  # B23
    stage = Stage()
    stage.worker().handle(stage.put({**report_ready(), "tenant": "acme", "labels": {"team": "x"}}))
    assert stage.document["tenant"] == "acme"
    assert stage.document["labels"] == {"team": "x"}
    assert stage.step().status is StepStatus.SUCCEEDED


def test_no_store_offers_a_transaction() -> None:  # B21
    stage = Stage()
    for twin in (stage.runs, stage.artifacts):
        assert not [name for name in dir(twin) if "transaction" in name.lower() or "batch" in name.lower()]
    stage.worker().handle(stage.put(report_ready()))
    assert stage.step().status is StepStatus.SUCCEEDED


def test_write_without_a_precondition_is_refused_by_the_twin() -> None:
    stage = Stage()
    event = stage.put(report_ready())
    with pytest.raises(AssertionError, match="without a precondition"):
        stage.runs.update(event.run_id, Patch({"status": "FAILED"}), None)  # type: ignore[arg-type]


@dataclass
class OwnToken:
    """A chance for one thread: the counted one is shared, and counting is not atomic."""

    name: str

    def token(self) -> str:
        return self.name

    def luck(self) -> float:
        return 0.5


def in_threads(count: int, work: Callable[[int], object]) -> list[Exception]:
    """All of them start together; returns what was raised."""
    start, failures = threading.Barrier(count), list[Exception]()

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except Exception as failure:  # noqa: BLE001 - a thread's failure has to reach the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.parametrize("round_", range(10))
def test_eight_threads_have_one_winner(round_: int) -> None:  # B2, for real
    stage = Stage()
    event = stage.put(report_ready())
    workers = [stage.worker(chance=OwnToken(f"token-{number}")) for number in range(8)]
    assert not in_threads(8, lambda number: workers[number].handle(event))
    assert stage.provider.calls == 1
    assert len(stage.artifacts.objects) == 1
    assert stage.step().attempt == 1
    assert stage.step().status is StepStatus.SUCCEEDED


@pytest.mark.parametrize("round_", range(10))
def test_of_eight_writes_on_one_snapshot_one_lands(round_: int) -> None:
    stage = Stage()
    snapshot = stage.put(report_ready()).snapshot
    assert snapshot is not None
    failures = in_threads(8, lambda number: stage.runs.update(RUN_ID, Patch({"winner": number}), snapshot.update_time))
    assert [type(failure) for failure in failures] == [Conflict] * 7
    assert len(stage.runs.changes) == 2


def test_claim_touches_only_its_own_step() -> None:  # B1
    stage = Stage()
    event = stage.put(report_ready())
    stage.worker().handle(event)
    before, after = event.snapshot, stage.runs.changes[1].new
    assert before is not None
    assert after is not None
    old, new = before.document["steps"], after.document["steps"]
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    assert {name for name in new if new[name] != old[name]} == {REPORT}
    assert {name for name in after.document if after.document[name] != before.document.get(name)} == {
        "steps",
        "wakeAt",
        "updatedAt",
    }
    assert old[OHLCV] == new[OHLCV]
