"""One key, one run: also when replies are lost, and when somebody deletes what was there."""

import pytest

from flowcore.domain.errors import Code, NetworkError, StepFailed
from flowcore.engine.start import Start, StartRequest
from flowcore.ports import Conflict
from flowcore.testing.stores import MemoryDocuments
from flowcore.testing.world import CountedChance, ManualClock, MemoryLog
from tests.engine.stage import unavailable

REQUEST = StartRequest("report_v1", {"symbol": "BTCUSDT"}, "key-1", {"type": "USER", "source": "a test"})


@pytest.fixture
def documents() -> MemoryDocuments:
    kept = MemoryDocuments()
    kept.put("flow_definitions/report_v1", {"parameters": {"symbol": {}}, "steps": {"a": {"stepType": "PROBE"}}})
    return kept


def start(documents: MemoryDocuments) -> Start:
    return Start(documents, "flow_runs", ManualClock(), CountedChance(), MemoryLog(), seconds=50)


def test_the_same_key_is_the_same_run(documents: MemoryDocuments) -> None:
    first = start(documents).handle(REQUEST)
    again = start(documents).handle(REQUEST)
    assert (first.created, again.created) == (True, False)
    assert first.run_id == again.run_id


def test_a_lost_reply_starts_nothing_twice(documents: MemoryDocuments) -> None:
    fault = documents.wire.break_next("create", unavailable(), after_effect=True)
    started = start(documents).handle(REQUEST)
    assert fault.fired == 1
    assert documents.find(f"flow_runs/{started.run_id}") is not None


def test_a_run_that_was_there_and_is_gone_is_not_told_as_started(documents: MemoryDocuments) -> None:
    documents.wire.break_next("create", Conflict("flow_runs/x"))
    with pytest.raises(NetworkError, match="is gone; ask again"):
        start(documents).handle(REQUEST)


def test_another_wish_under_the_same_key_is_refused(documents: MemoryDocuments) -> None:
    start(documents).handle(REQUEST)
    other = StartRequest("report_v1", {"symbol": "ETHUSDT"}, "key-1", {})
    with pytest.raises(StepFailed) as refused:
        start(documents).handle(other)
    assert refused.value.error.code == Code.IDEMPOTENCY_PAYLOAD_MISMATCH
